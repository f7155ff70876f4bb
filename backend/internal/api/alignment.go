package api

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"rockpool/backend/internal/core"
	"rockpool/backend/internal/core/fleet"
	"rockpool/backend/internal/rest"
)

// getAlignment shows what will fail before a request does. Whoever sees some pools
// only gets these, and the apps that would go there.
func (a *API) getAlignment(c *call) error {
	found, err := a.dispatch.Alignment(c.ctx())
	if err != nil {
		return err
	}
	doc := rest.Alignment{Apps: []rest.MisalignedApp{}, Pools: []rest.UnresolvedPool{}}
	for i := range found.Apps {
		row := &found.Apps[i]
		if c.scope.All || slices.ContainsFunc(row.Pools, func(pool string) bool { return c.sees(0, pool) }) {
			doc.Apps = append(doc.Apps, misalignedDoc(row))
		}
	}
	for _, p := range found.Pools {
		if c.sees(0, p.Pool) {
			doc.Pools = append(doc.Pools, rest.UnresolvedPool{Pool: p.Pool, Kind: string(p.Kind), Nodes: int(p.Nodes)})
		}
	}
	return c.JSON(http.StatusOK, doc)
}

func misalignedDoc(m *core.Misaligned) rest.MisalignedApp {
	return rest.MisalignedApp{
		App: m.App, Owner: ownerText(m.Owner), Role: m.Role, Rule: string(m.Rule), Pools: append([]string{}, m.Pools...),
		FallbackAllowed: m.Fallback, Nodes: int(m.Nodes), Elsewhere: int(m.Elsewhere), Text: misalignedText(m),
	}
}

// misalignedText says what will happen, why, and what would help.
func misalignedText(m *core.Misaligned) string {
	var b strings.Builder
	b.WriteString("work of " + m.App)
	if m.Role != "" {
		b.WriteString(" for role " + m.Role)
	}
	b.WriteString(" finds no usable node: ")
	pools := m.Pools
	if m.Fallback {
		pools = append(slices.Clone(pools), fleet.PoolDefault)
	}
	switch {
	case len(pools) == 0:
		b.WriteString("it resolves to no pool")
	case m.Nodes == 0:
		b.WriteString(has(strings.Join(pools, " and "), len(pools)) + " no node")
	default:
		fmt.Fprintf(&b, "none of %s in %s gets new work", counted(m.Nodes, "node"), strings.Join(pools, " and "))
	}
	if m.Elsewhere > 0 {
		fmt.Fprintf(&b, "; nodes exist but in other pools: %s of %s", counted(m.Elsewhere, "usable node"), ownerWords(m.Owner))
	}
	return b.String()
}
