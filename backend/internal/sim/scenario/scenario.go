// Package scenario reads scenario files: TOML, strictly, with the data that they
// refer to by name.
package scenario

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"rockpool/backend/internal/core/fleet"
	"rockpool/backend/internal/sim"
	"rockpool/shared/ids"
)

// Names lists the scenarios of a folder, sorted.
func Names(files fs.FS) ([]string, error) {
	found, err := fs.Glob(files, "*.toml")
	if err != nil {
		return nil, fmt.Errorf("list scenarios: %w", err)
	}
	for i := range found {
		found[i] = strings.TrimSuffix(found[i], ".toml")
	}
	return found, nil
}

// Load reads the scenario of this name from a folder.
func Load(files fs.FS, name string) (*sim.Scenario, error) {
	content, err := fs.ReadFile(files, name+".toml")
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("there is no scenario %q: see rockpool sim list", name)
	}
	if err != nil {
		return nil, fmt.Errorf("read scenario %s: %w", name, err)
	}
	return Parse(files, name, content)
}

// Parse reads a scenario. Data that it names (rtt, churn fits, traces) comes from
// the folder data of files.
func Parse(files fs.FS, name string, content []byte) (*sim.Scenario, error) {
	sc := &sim.Scenario{}
	d := toml.NewDecoder(bytes.NewReader(content))
	d.DisallowUnknownFields()
	if err := d.Decode(sc); err != nil {
		var strict *toml.StrictMissingError
		if errors.As(err, &strict) {
			return nil, fmt.Errorf("scenario %s: unknown field:\n%s", name, strict.String())
		}
		return nil, fmt.Errorf("scenario %s: %w", name, err)
	}
	sc.Name = path.Base(name)
	complete(sc)
	if err := refer(files, sc); err != nil {
		return nil, fmt.Errorf("scenario %s: %w", name, err)
	}
	if err := check(sc); err != nil {
		return nil, fmt.Errorf("scenario %s: %w", name, err)
	}
	return sc, nil
}

// complete fills in what a scenario need not say.
func complete(sc *sim.Scenario) {
	for i := range sc.Nodes {
		n := &sc.Nodes[i]
		n.Count, n.Slots = max(1, n.Count), max(1, n.Slots)
		if n.Role == "" {
			n.Role = "worker"
		}
		if n.Pool == "" {
			n.Pool = fleet.PoolDefault
			if n.Owner != 0 {
				n.Pool = fleet.OwnerPool(n.Owner)
			}
		}
		if len(n.Runners) == 0 {
			n.Runners = []string{"noop"}
		}
	}
	for i := range sc.Demand {
		d := &sc.Demand[i]
		d.Role, d.Runner = orElse(d.Role, "worker"), orElse(d.Runner, "noop")
		if d.Run == 0 {
			d.Run = 1000
		}
		if d.Speed == 0 {
			d.Speed = 1
		}
	}
	for i := range sc.Steps {
		s := &sc.Steps[i]
		s.Role, s.Runner = orElse(s.Role, "worker"), orElse(s.Runner, "noop")
		if s.Run == 0 {
			s.Run = 1000
		}
	}
}

func orElse(s, other string) string {
	if s == "" {
		return other
	}
	return s
}

// check refuses what could not be played.
func check(sc *sim.Scenario) error {
	switch {
	case sc.Duration <= 0:
		return errors.New("say its duration")
	case sc.Heartbeat != 0 && (sc.Heartbeat < 1000 || sc.Heartbeat > 60_000):
		return errors.New("heartbeat must be 1s..60s")
	}
	pools, apps := []string{fleet.PoolDefault, fleet.PoolUnassigned}, []string{}
	for _, p := range sc.Pools {
		pools = append(pools, p.ID)
	}
	for _, a := range sc.Apps {
		apps, pools = append(apps, a.ID), append(pools, fleet.OwnerPool(a.Owner))
	}
	for _, n := range sc.Nodes {
		pools = append(pools, fleet.OwnerPool(n.Owner))
	}
	var errs []error
	name := func(what, id string, known []string) {
		if id != "" && !slices.Contains(known, id) {
			errs = append(errs, fmt.Errorf("there is no %s %q", what, id))
		}
	}
	for _, n := range sc.Nodes {
		errs = append(errs, ids.CheckName(n.ID))
		name("pool", n.Pool, pools)
		if n.Slots > fleet.MaxSlots {
			errs = append(errs, fmt.Errorf("%s: slots must be 1..%d", n.ID, fleet.MaxSlots))
		}
	}
	for _, a := range sc.Apps {
		for _, p := range a.Pools {
			name("pool", p, pools)
		}
	}
	for _, d := range sc.Demand {
		for _, a := range append(slices.Clone(d.Apps), d.App) {
			name("app", a, apps)
		}
		name("pool", d.Pool, pools)
	}
	for i := range sc.Steps {
		s := &sc.Steps[i]
		name("app", s.App, apps)
		name("pool", s.Pool, pools)
		name("pool", s.To, pools)
		if s.Slots < 0 || s.Slots > fleet.MaxSlots || s.Spread < 0 || s.Spread > fleet.MaxPlacementNodes {
			errs = append(errs, fmt.Errorf("at %s: slots must be 0..%d, spread 1..%d", s.T, fleet.MaxSlots, fleet.MaxPlacementNodes))
		}
		errs = append(errs, sim.CheckStep(s))
	}
	for _, e := range sc.Expect {
		errs = append(errs, sim.CheckExpect(&e))
	}
	return errors.Join(errs...)
}
