package api

import (
	"context"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"rockpool/backend/internal/core"
	"rockpool/backend/internal/core/fleet"
	"rockpool/backend/internal/record"
	"rockpool/backend/internal/rest"
	"rockpool/backend/internal/view"
	"rockpool/shared/ids"
	"rockpool/shared/wire"
)

const maxReason = 500 // bytes of an administrative action's reason

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
	row, err := a.store.Node(c.ctx(), id)
	if isNotFound(err) || err == nil && !c.sees(row.Owner) {
		return notFound("node")
	}
	if err != nil {
		return err
	}
	now, err := a.dispatch.Fleet(c.ctx())
	if err != nil {
		return err
	}
	c.Response().Header().Set("ETag", etag(row.Version))
	return c.JSON(http.StatusOK, a.nodeDoc(&row, now))
}

func etag(version int64) string { return strconv.Quote(strconv.FormatInt(version, 10)) }

// ifMatch reads the version that the client saw; nil: any will do.
func (c *call) ifMatch() (*int64, error) {
	values := c.Request().Header.Values("If-Match")
	if len(values) == 0 || len(values) == 1 && values[0] == "*" {
		return nil, nil
	}
	if len(values) == 1 {
		text, quoted := strings.CutPrefix(values[0], `"`)
		text, ended := strings.CutSuffix(text, `"`)
		if version, err := strconv.ParseInt(text, 10, 64); quoted && ended && err == nil {
			return &version, nil
		}
	}
	return nil, badRequest(`If-Match is the ETag that the node came with, such as "17"`)
}

func (a *API) moveNode(c *call, in *rest.MoveRequest) error {
	id, err := c.named("node")
	if err != nil {
		return err
	}
	version, err := c.ifMatch()
	if err != nil {
		return err
	}
	if err := checkLine("reason", in.Reason, maxReason); err != nil {
		return err
	}
	if ids.CheckName(in.Pool) != nil {
		return badRequest("pool is missing or no name")
	}
	if _, err := a.store.Pool(c.ctx(), in.Pool); isNotFound(err) {
		return unprocessable("there is no pool %s", in.Pool)
	} else if err != nil {
		return err
	}
	from, moved, err := a.store.MoveNode(c.ctx(), c.actor(), id, in.Pool, in.Reason, version)
	if err != nil {
		return err
	}
	if err := a.dispatch.PutNode(context.WithoutCancel(c.ctx()), moved); err != nil {
		return err
	}
	now, err := a.dispatch.Fleet(c.ctx())
	if err != nil {
		return err
	}
	doc := rest.Moved{Node: id, From: from, To: in.Pool, Applied: true, Version: moved.Version}
	if live := viewOf(now, id); live != nil {
		doc.Running = len(live.Running)
	}
	c.Response().Header().Set("ETag", etag(moved.Version))
	return c.JSON(http.StatusOK, doc)
}

// cordonNode keeps new work from a node; what runs there goes on.
func (a *API) cordonNode(c *call, in *rest.ReasonRequest) error {
	return a.changeCordon(c, in, a.store.CordonNode)
}

func (a *API) uncordonNode(c *call, in *rest.ReasonRequest) error {
	return a.changeCordon(c, in, a.store.UncordonNode)
}

func (a *API) changeCordon(c *call, in *rest.ReasonRequest,
	change func(context.Context, record.Actor, string, string, *int64) (fleet.NodeRecord, error)) error {
	id, err := c.named("node")
	if err != nil {
		return err
	}
	version, err := c.ifMatch()
	if err != nil {
		return err
	}
	if err := checkLine("reason", in.Reason, maxReason); err != nil {
		return err
	}
	changed, err := change(c.ctx(), c.actor(), id, in.Reason, version)
	if err != nil {
		return err
	}
	if err := a.dispatch.PutNode(context.WithoutCancel(c.ctx()), changed); err != nil {
		return err
	}
	return a.answerNode(c, id)
}

func (a *API) revokeNode(c *call, in *rest.ReasonRequest) error {
	id, err := c.named("node")
	if err != nil {
		return err
	}
	if err := checkLine("reason", in.Reason, maxReason); err != nil {
		return err
	}
	if err := a.store.RevokeNode(c.ctx(), c.actor(), id, in.Reason); err != nil {
		return err
	}
	if err := a.dispatch.RevokeNode(context.WithoutCancel(c.ctx()), id, in.Reason); err != nil {
		return err
	}
	return a.answerNode(c, id)
}

// viewOf finds a node's live part, or nil.
func viewOf(now *core.FleetView, id string) *core.NodeView {
	at, found := slices.BinarySearchFunc(now.Nodes, id, func(n core.NodeView, id string) int { return strings.Compare(n.Record.ID, id) })
	if !found {
		return nil
	}
	return &now.Nodes[at]
}

// nodeDoc is the node as the consoles' topics have it, with what only REST tells.
func (a *API) nodeDoc(row *record.Node, now *core.FleetView) rest.Node {
	live := viewOf(now, row.ID)
	seen := view.NodeOf(live, row, a.now(), now.At)
	doc := rest.Node{
		ID: row.ID, Owner: ownerText(row.Owner), Pool: seen.Pool, Role: seen.Role, Region: seen.Region,
		Lease: seen.Lease, Healthy: seen.Healthy, HealthReasons: seen.HealthReasons, Holds: holdDocs(row.Holds),
		Capacity: capacityDoc(&row.Capacity), Running: len(seen.Running), Backend: seen.Backend,
		Runners: append([]string{}, seen.Runners...), Epoch: seen.Epoch, License: row.License,
		AgentVersion: seen.AgentVersion, OS: seen.OS, Arch: seen.Arch, Address: seen.Address,
		Endpoints: wirePairs(seen.Endpoints), Labels: wirePairs(seen.Labels), CreatedAt: rest.At(row.CreatedAt),
		LastSeenAt: rest.AtPtr(row.LastSeen), Version: seen.Version,
	}
	if live != nil && live.LastSeen != 0 {
		doc.LastSeenAt = rest.AtPtr(a.wall(live.LastSeen))
	}
	if live != nil {
		doc.Holds = holdDocs(live.Record.Holds)
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

func holdDocs(holds []fleet.Hold) []rest.Hold {
	list := make([]rest.Hold, len(holds))
	for i, h := range holds {
		list[i] = rest.Hold{Kind: string(h.Kind), Owner: string(h.Owner), Actor: h.Actor, Reason: h.Reason}
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
