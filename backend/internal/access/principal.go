package access

import (
	"slices"
	"strconv"

	"rockpool/backend/internal/core/fleet"
	"rockpool/backend/internal/enroll"
	"rockpool/backend/internal/record"
)

// Kind of a principal, told by the kind of its credential.
type Kind uint8

// Anonymous brought no credential, a user an API token or the cookie of a console
// session, a node its secret.
const (
	Anonymous Kind = iota
	ByToken
	ByNodeSecret
	ByConsole
)

// Principal is who asks. Only the fields of its kind are set.
type Principal struct {
	Kind  Kind
	User  record.User
	Token record.Token
	Node  fleet.NodeRecord
	// Console is the SHA-256 of the console session's secret.
	Console enroll.Sum
}

// Grants are the subjects of the rules that speak for the principal, as its record
// has them now.
func (p *Principal) Grants() []Grant {
	switch p.Kind {
	case ByToken, ByConsole:
		return grantsOf(&p.User)
	case ByNodeSecret:
		return []Grant{{Subject: SubjectNode, Pool: EveryPool}}
	}
	return Everybody()
}

func grantsOf(u *record.User) []Grant {
	grants := make([]Grant, 0, len(u.Roles)+len(u.Grants))
	for _, role := range u.Roles {
		if subject, known := ofFleet[role]; known {
			grants = append(grants, Grant{Subject: subject, Pool: EveryPool})
		}
	}
	for _, g := range u.Grants {
		if subject, known := ofPool[g.Role]; known && g.Pool != EveryPool {
			grants = append(grants, Grant{Subject: subject, Pool: g.Pool})
		}
	}
	return grants
}

// Subjects by the roles that a user may have for the fleet, and for single pools.
var ofFleet, ofPool = subjectsOf(Roles()), subjectsOf(PoolRoles())

func subjectsOf(roles []string) map[string]string {
	subjects := make(map[string]string, len(roles))
	for _, role := range roles {
		subjects[role] = "role:" + role
	}
	return subjects
}

// Subject is the principal's own name, for audit entries and logs.
func (p *Principal) Subject() string {
	switch p.Kind {
	case ByToken, ByConsole:
		return "u:" + strconv.FormatInt(p.User.ID, 10)
	case ByNodeSecret:
		return "node:" + p.Node.ID
	}
	return "anonymous"
}

// ScopeRead narrows a token to reading.
const ScopeRead = "read"

// TokenScopes lists what a token may be narrowed to.
func TokenScopes() []string { return []string{ScopeRead} }

// TokenAllows reports whether the token's own scopes let the action through: no
// scopes let everything that the user may; a scope of a later release lets nothing.
func (p *Principal) TokenAllows(action string) bool {
	if p.Kind != ByToken || len(p.Token.Scopes) == 0 {
		return true
	}
	return slices.Contains(p.Token.Scopes, ScopeRead) && action == "read"
}
