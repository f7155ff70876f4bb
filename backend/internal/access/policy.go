package access

import (
	"fmt"
	"log/slog"

	"github.com/casbin/casbin/v2"
	"github.com/casbin/casbin/v2/model"
	stringadapter "github.com/casbin/casbin/v2/persist/string-adapter"

	"rockpool/policies"
)

// Scope says on whose objects an action is allowed.
type Scope uint8

// None is a refusal. Own and all are what the query filters by.
const (
	ScopeNone Scope = iota
	ScopeOwn
	ScopeAll
)

var scopes = map[string]Scope{"own": ScopeOwn, "all": ScopeAll}

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

// Policy answers from the embedded rules, each time anew.
type Policy struct {
	enforcer *casbin.SyncedEnforcer
	log      *slog.Logger
}

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
		if len(rule) <= scopeField || scopes[rule[scopeField]] == ScopeNone {
			return nil, fmt.Errorf("policies/policy.csv: rule %v needs the scope own or all", rule)
		}
	}
	return &Policy{enforcer: enforcer, log: log}, nil
}

// Decide gives the widest scope that any of the subjects has for the action on
// the kind of object. Whatever goes wrong is a refusal.
func (p *Policy) Decide(subjects []string, object, action string) Scope {
	widest := ScopeNone
	for _, subject := range subjects {
		ok, rule, err := p.enforcer.EnforceEx(subject, object, action)
		if err != nil {
			p.log.Error("policy decision failed: refused", "subject", subject, "object", object, "action", action, "error", err)
			return ScopeNone
		}
		if ok && len(rule) > scopeField {
			widest = max(widest, scopes[rule[scopeField]])
		}
		if widest == ScopeAll {
			break
		}
	}
	return widest
}
