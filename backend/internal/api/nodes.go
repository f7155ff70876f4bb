package api

import (
	"net/http"
	"slices"
	"strings"

	"rockpool/backend/internal/core"
	"rockpool/backend/internal/core/fleet"
	"rockpool/backend/internal/record"
	"rockpool/backend/internal/rest"
	"rockpool/backend/internal/view"
	"rockpool/shared/wire"
)

func (a *API) listNodes(c *call) error {
	page, err := c.page(afterName)
	if err != nil {
		return err
	}
	now, err := a.dispatch.Fleet(c.ctx())
	if err != nil {
		return err
	}
	pool, lease := c.QueryParam("pool"), c.QueryParam("lease")
	wanted := func(doc *rest.Node) bool {
		return (pool == "" || doc.Pool == pool) && (lease == "" || doc.Lease == lease)
	}
	docs, err := a.nodeDocs(c, now, page, wanted)
	if err != nil {
		return err
	}
	key := func(n *rest.Node) string { return n.ID }
	return c.JSON(http.StatusOK, listOf(docs, page, key, func(n *rest.Node) *rest.Node { return n }))
}

// nodeDocs reads on, page by page, until the wanted ones fill one page.
func (a *API) nodeDocs(c *call, now *core.FleetView, page record.Page, wanted func(*rest.Node) bool) ([]rest.Node, error) {
	docs := make([]rest.Node, 0, page.Limit)
	for read := (record.Page{Limit: record.MaxPage, After: page.After}); ; {
		rows, err := a.store.Nodes(c.ctx(), c.rows(), read)
		if err != nil {
			return nil, err
		}
		for i := range rows {
			if doc := a.nodeDoc(&rows[i], now); wanted(&doc) {
				docs = append(docs, doc)
			}
			if len(docs) == page.Limit {
				return docs, nil
			}
		}
		if len(rows) < read.Limit {
			return docs, nil
		}
		read.After = rows[len(rows)-1].ID
	}
}

func (a *API) getNode(c *call) error {
	id, err := c.named("node")
	if err != nil {
		return err
	}
	return a.answerNode(c, id)
}

func (a *API) answerNode(c *call, id string) error {
	row, err := a.node(c, id)
	if err != nil {
		return err
	}
	now, err := a.dispatch.Fleet(c.ctx())
	if err != nil {
		return err
	}
	inventory, err := a.store.NodeInventory(c.ctx(), id)
	if err != nil {
		return err
	}
	facts, err := a.store.NodeFacts(c.ctx(), id)
	if err != nil {
		return err
	}
	doc := a.nodeDoc(&row, now)
	doc.Inventory, doc.RotatedAt = inventoryDoc(inventory), rest.AtPtr(facts.RotatedAt)
	if facts.Seat > 0 && c.owns(row.Owner) {
		doc.Seat = &rest.Seat{Number: facts.Seat, Of: facts.Seats}
	}
	c.Response().Header().Set("ETag", etag(row.Version))
	return c.JSON(http.StatusOK, doc)
}

// node reads a node that the caller may see.
func (a *API) node(c *call, id string) (record.Node, error) {
	row, err := a.store.Node(c.ctx(), id)
	if isNotFound(err) || err == nil && !c.sees(row.Owner, row.Pool) {
		return row, notFound("node")
	}
	return row, err
}

// viewOf finds a node's live part, or nil.
func viewOf(now *core.FleetView, id string) *core.NodeView {
	at, found := slices.BinarySearchFunc(now.Nodes, id, func(n *core.NodeView, id string) int { return strings.Compare(n.Record.ID, id) })
	if !found {
		return nil
	}
	return now.Nodes[at]
}

// nodeDoc is the node as the consoles' topics have it, with what only REST tells.
func (a *API) nodeDoc(row *record.Node, now *core.FleetView) rest.Node {
	live := viewOf(now, row.ID)
	seen := view.NodeOf(live, row, a.now(), now.At)
	doc := rest.Node{
		ID: row.ID, Owner: ownerText(row.Owner), Pool: seen.Pool, Role: seen.Role, Region: seen.Region,
		Lease: seen.Lease, Healthy: seen.Healthy, HealthReasons: seen.HealthReasons,
		Accepting: seen.Accepting, AcceptReason: seen.AcceptReason, Holds: a.holdDocs(row.Holds),
		Capacity: capacityDoc(&row.Capacity), Running: len(seen.Running), Backend: seen.Backend,
		Runners: append([]string{}, seen.Runners...), Epoch: seen.Epoch, License: row.License,
		AgentVersion: seen.AgentVersion, OS: seen.OS, Arch: seen.Arch, Address: seen.Address,
		Endpoints: wirePairs(seen.Endpoints), Labels: wirePairs(seen.Labels), ClockSkewMs: seen.Skew, CreatedAt: rest.At(row.CreatedAt),
		LastSeenAt: rest.AtPtr(row.LastSeen), Version: seen.Version,
	}
	identity := row.Identity
	if live != nil {
		identity = live.Record.Identity
	}
	doc.Claimants, doc.Keep, doc.Rotating = a.claimantDocs(identity.Claimants), identity.Keep, identity.Rotation != ""
	if live != nil && live.LastSeen != 0 {
		doc.LastSeenAt = rest.AtPtr(a.wall(live.LastSeen))
	}
	if live != nil {
		doc.Holds = a.holdDocs(live.Record.Holds)
		doc.Capacity, doc.Reserved = capacityDoc(&live.Record.Capacity), capacityDoc(&live.Reserved)
	}
	return doc
}

func wirePairs(pairs []wire.Pair) []rest.Pair {
	if len(pairs) == 0 {
		return nil
	}
	list := make([]rest.Pair, len(pairs))
	for i, p := range pairs {
		list[i] = rest.Pair{p.Name, p.Value}
	}
	return list
}

func (a *API) holdDocs(holds []fleet.Hold) []rest.Hold {
	list := make([]rest.Hold, len(holds))
	for i, h := range holds {
		list[i] = rest.Hold{
			Kind: string(h.Kind), Owner: string(h.Owner), Actor: h.Actor, Reason: h.Reason,
			Until: rest.AtPtr(a.wall(h.Until)), Deadline: rest.AtPtr(a.wall(h.Deadline)),
		}
	}
	return list
}

func capacityDoc(v *fleet.Vector) rest.Capacity {
	return rest.Capacity{Slots: v.Slots, Resources: amounts(v.Resources), MemoryMib: amounts(v.Memory)}
}

func amounts(list []fleet.Quantity) map[string]int64 {
	if len(list) == 0 {
		return nil
	}
	m := make(map[string]int64, len(list))
	for _, q := range list {
		m[q.Name] = q.Amount
	}
	return m
}
