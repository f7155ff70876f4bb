package access

import (
	"fmt"
	"log/slog"
	"slices"
	"sync"

	"github.com/casbin/casbin/v2"
	"github.com/casbin/casbin/v2/model"
	stringadapter "github.com/casbin/casbin/v2/persist/string-adapter"

	"rockpool/backend/internal/record"
	"rockpool/policies"
)

// Scope says on whose objects an action is allowed: on everybody's, or on one's own
// and on those of the pools of which one has a role. The zero Scope is a refusal.
type Scope struct {
	All   bool
	Own   bool
	Pools []string // sorted
}

// None reports a refusal.
func (s Scope) None() bool { return !s.All && !s.Own && len(s.Pools) == 0 }

// Of is the filter that gives a user what is in the scope, which is no refusal.
func (s Scope) Of(user int64) record.Scope {
	if s.All {
		return record.Scope{}
	}
	filter := record.Scope{Pools: append([]string{}, s.Pools...)}
	if s.Own {
		filter.Owner = &user
	}
	return filter
}

// EveryPool is the pool of a grant for the whole fleet.
const EveryPool = "*"

// Grant is a subject of the rules that speaks for somebody, in every pool or in one.
type Grant struct {
	Subject string
	Pool    string
}

// Scopes that a rule may have. Pool is every object where the role is granted for
// the fleet, else those of the pools for which it is.
const (
	ruleOwn  = "own"
	rulePool = "pool"
	ruleAll  = "all"
)

// widen adds what a rule with that scope gives to the holder of the grant.
func (s *Scope) widen(rule string, g Grant) {
	switch {
	case rule == ruleOwn:
		s.Own = true
	case g.Pool == EveryPool:
		s.All = true
	case rule == rulePool:
		if at, there := slices.BinarySearch(s.Pools, g.Pool); !there {
			s.Pools = slices.Insert(s.Pools, at, g.Pool)
		}
	}
}

// Subjects of the rules: prefixed, so that a user who is called like a role is nobody.
const (
	SubjectAnonymous = "role:anonymous"
	SubjectNode      = "role:node"
)

// Roles that a user may have.
const (
	RoleSuperadmin = "superadmin"
	RoleOperator   = "operator"
	RoleViewer     = "viewer"
	RoleUser       = "user"
)

// Roles lists the roles that a user may have.
func Roles() []string { return []string{RoleSuperadmin, RoleOperator, RoleViewer, RoleUser} }

// PoolRoles lists those that may be granted for single pools.
func PoolRoles() []string { return []string{RoleOperator, RoleViewer} }

// Everybody is the grant of whoever brings no credential.
func Everybody() []Grant { return []Grant{{Subject: SubjectAnonymous, Pool: EveryPool}} }

// Policy answers from the embedded rules, which don't change while the process lives:
// what they say of a subject, an object and an action is looked up once.
type Policy struct {
	enforcer *casbin.SyncedEnforcer
	log      *slog.Logger
	said     sync.Map // scope by question, empty: none; as many as roles times routes
}

// question is what the rules are asked.
type question struct{ subject, object, action string }

// scopeField is where a rule's scope stands: subject, object, action, scope.
const scopeField = 3

// NewPolicy reads the embedded rules; log nil: the default. An error means that
// the rules are broken.
func NewPolicy(log *slog.Logger) (*Policy, error) {
	if log == nil {
		log = slog.Default()
	}
	m, err := model.NewModelFromString(policies.Model)
	if err != nil {
		return nil, fmt.Errorf("read policies/model.conf: %w", err)
	}
	enforcer, err := casbin.NewSyncedEnforcer(m, stringadapter.NewAdapter(policies.Rules))
	if err != nil {
		return nil, fmt.Errorf("read policies/policy.csv: %w", err)
	}
	for _, rule := range enforcer.GetModel()["p"]["p"].Policy {
		if len(rule) <= scopeField || !slices.Contains([]string{ruleOwn, rulePool, ruleAll}, rule[scopeField]) {
			return nil, fmt.Errorf("policies/policy.csv: rule %v needs the scope own, pool or all", rule)
		}
	}
	return &Policy{enforcer: enforcer, log: log}, nil
}

// Decide unites what any of the grants gives for the action on the kind of object.
// Whatever goes wrong is a refusal.
func (p *Policy) Decide(grants []Grant, object, action string) Scope {
	var all Scope
	for _, g := range grants {
		scope, err := p.ask(question{g.Subject, object, action})
		if err != nil {
			p.log.Error("policy decision failed: refused", "subject", g.Subject, "object", object, "action", action, "error", err)
			return Scope{}
		}
		if scope != "" {
			all.widen(scope, g)
		}
		if all.All {
			return Scope{All: true}
		}
	}
	return all
}

// ask gives the scope of the rule that allows what is asked; empty: none does.
func (p *Policy) ask(q question) (scope string, err error) {
	if said, known := p.said.Load(q); known {
		return said.(string), nil
	}
	ok, rule, err := p.enforcer.EnforceEx(q.subject, q.object, q.action)
	if err != nil {
		return "", err
	}
	if ok && len(rule) > scopeField {
		scope = rule[scopeField]
	}
	p.said.Store(q, scope)
	return scope, nil
}
