package api

import (
	"rockpool/backend/internal/core"
	"rockpool/backend/internal/core/fleet"
	"rockpool/backend/internal/record"
	"rockpool/backend/internal/rest"
	"rockpool/backend/internal/view"
)

// livePlacementDoc is the document of a placement as memory has it, committed.
func (a *API) livePlacementDoc(c *call, p *core.PlacementView) (*rest.Placement, error) {
	row := &record.Placement{
		Spec: *p.Spec, State: p.Row.State, Nodes: p.Row.Nodes, Fallback: p.Row.Fallback,
		CreatedAt: a.dispatch.WallAt(p.Row.CreatedAt), ExpiresAt: a.dispatch.WallAt(p.Row.ExpiresAt), EndedAt: a.wall(p.Row.EndedAt),
	}
	return a.placementDoc(c, row)
}

func (a *API) placementDoc(c *call, row *record.Placement) (*rest.Placement, error) {
	docs, err := a.placementDocs(c, []record.Placement{*row})
	if err != nil {
		return nil, err
	}
	return &docs[0], nil
}

// placementDocs are the documents of rows, with their nodes as they are now.
func (a *API) placementDocs(c *call, rows []record.Placement) ([]rest.Placement, error) {
	nodes, err := a.placedNodes(c, rows)
	if err != nil {
		return nil, err
	}
	docs := make([]rest.Placement, len(rows))
	for i := range rows {
		p := &rows[i]
		docs[i] = rest.Placement{
			ID: p.Spec.ID.String(), App: p.Spec.App, Role: p.Spec.Role, Key: p.Spec.Key, Purpose: p.Spec.Purpose,
			State: p.State.String(), Slots: p.Spec.Demands.Slots, Fallback: p.Fallback, CreatedAt: rest.At(p.CreatedAt),
			ExpiresAt: rest.At(p.ExpiresAt), EndedAt: rest.AtPtr(p.EndedAt), Nodes: make([]rest.PlacementNode, len(p.Nodes)),
		}
		for n, on := range p.Nodes {
			docs[i].Nodes[n] = nodes[on.Node]
			docs[i].Nodes[n].Pool = on.Pool
		}
	}
	return docs, nil
}

// placedNodes are the nodes of placements by id, but for their pools. What has not
// said hello since the server began has the endpoints of its hello before that.
func (a *API) placedNodes(c *call, rows []record.Placement) (map[string]rest.PlacementNode, error) {
	var wanted []string
	docs := map[string]rest.PlacementNode{}
	for i := range rows {
		for _, on := range rows[i].Nodes {
			if _, there := docs[on.Node]; !there {
				docs[on.Node] = rest.PlacementNode{}
				wanted = append(wanted, on.Node)
			}
		}
	}
	if len(wanted) == 0 {
		return docs, nil
	}
	live, err := a.dispatch.LiveNodes(c.ctx(), wanted)
	if err != nil {
		return nil, err
	}
	for _, id := range wanted {
		now, known := live[id]
		if docs[id], err = a.placedNode(c, id, now, known); err != nil {
			return nil, err
		}
	}
	return docs, nil
}

func (a *API) placedNode(c *call, id string, now core.NodeView, known bool) (rest.PlacementNode, error) {
	var kept *record.Node
	var live *core.NodeView
	if known {
		live = &now
	}
	if !known || now.Report == nil {
		row, err := a.store.Node(c.ctx(), id)
		if err != nil && !isNotFound(err) {
			return rest.PlacementNode{}, err
		}
		kept = &row
		if err != nil { // its record is gone
			kept.Left = true
		}
	}
	seen := view.NodeOf(live, kept, a.now(), fleet.Time(0))
	doc := rest.PlacementNode{ID: id, Lease: seen.Lease, Endpoints: make(map[string]string, len(seen.Endpoints))}
	for _, e := range seen.Endpoints {
		doc.Endpoints[e.Name] = e.Value
	}
	return doc, nil
}
