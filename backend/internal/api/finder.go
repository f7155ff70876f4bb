package api

import (
	"context"
	"sync"

	"rockpool/backend/internal/artifact"
	"rockpool/backend/internal/core/fleet"
	"rockpool/backend/internal/rest"
)

// finder looks up what job requests name, apps, artifacts, roles and pools, each at most once.
type finder struct {
	api   *API
	call  *call
	sizes map[artifact.Digest]int64 // nil: none is known
	pools map[string]fleet.Pool     // nil: none is known
}

func (a *API) newFinder(c *call) *finder {
	return &finder{api: a, call: c}
}

// specOf is what a request asks for, checked by itself and against what there is.
func (f *finder) specOf(in *rest.JobRequest) (*fleet.JobSpec, error) {
	if err := f.api.mayName(f.call, in.Pool); err != nil {
		return nil, err
	}
	spec, err := specOf(in)
	if err != nil {
		return nil, err
	}
	return spec, f.complete(spec)
}

// complete fills in the app's owner and the inputs' sizes. Another user's app is
// not_found like one that is not there; another user's artifact is not uploaded.
func (f *finder) complete(spec *fleet.JobSpec) error {
	if spec.NotBeforeMs != 0 && spec.NotBeforeMs > f.api.now().Add(maxAway).UnixMilli() {
		return badRequest("notBefore must be within %s from now", rest.Duration(maxAway))
	}
	owner, err := f.owner(spec.App)
	if err != nil {
		return err
	}
	spec.Owner = owner
	if err := f.api.existingRole(f.call.ctx(), spec.Role); err != nil {
		return err
	}
	if spec.Pool != "" {
		if err := f.canaryPool(spec.Pool); err != nil {
			return err
		}
	}
	return f.inputs(spec)
}

// inputs fills in their sizes, and has their files kept as long as the job is.
func (f *finder) inputs(spec *fleet.JobSpec) (err error) {
	for i := range spec.Inputs {
		in := &spec.Inputs[i]
		in.Size, err = f.size(artifact.Digest(in.Digest))
		if isNotFound(err) {
			return unprocessable("inputs.%s: %s is not uploaded", in.Name, in.Digest)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// canaryPool makes sure that a canary job names a named pool.
func (f *finder) canaryPool(id string) error {
	pool, known := f.pools[id]
	if !known {
		var err error
		if pool, err = f.api.store.Pool(f.call.ctx(), id); isNotFound(err) {
			return unprocessable("pool: there is no pool %s", id)
		} else if err != nil {
			return err
		}
		if f.pools == nil {
			f.pools = map[string]fleet.Pool{}
		}
		f.pools[id] = pool
	}
	if pool.Kind != fleet.KindNamed {
		return unprocessable("pool: %s is a pool of kind %s: canary jobs go to named pools", id, pool.Kind)
	}
	return nil
}

// owner is the owner of an app that the caller may use.
func (f *finder) owner(id string) (int64, error) {
	owner, err := f.api.apps.owner(f.call.ctx(), f.api.store, id)
	if isNotFound(err) || err == nil && !f.call.owns(owner) {
		return 0, fleet.Errorf(fleet.CodeNotFound, "there is no app "+id)
	}
	return owner, err
}

// knownApps remembers whose the apps are: none is ever taken away or given to another
// user, so that only a new one costs a question.
type knownApps struct{ owners sync.Map }

// owner asks the store about an app that is not known yet.
func (k *knownApps) owner(ctx context.Context, store AppStore, id string) (int64, error) {
	if owner, known := k.owners.Load(id); known {
		return owner.(int64), nil
	}
	app, err := store.App(ctx, id)
	if err == nil {
		k.owners.Store(id, app.Owner)
	}
	return app.Owner, err
}

func (f *finder) size(digest artifact.Digest) (int64, error) {
	if size, ok := f.sizes[digest]; ok {
		return size, nil
	}
	kept, err := f.api.store.UseArtifact(f.call.ctx(), string(digest), f.call.owner())
	if err != nil {
		return 0, err
	}
	if f.sizes == nil {
		f.sizes = map[artifact.Digest]int64{}
	}
	f.sizes[digest] = kept.Size
	return kept.Size, nil
}
