// Package access knows who asks and what they may do: API tokens and node
// secrets (looked up by their SHA-256), the rules in policies/ (Casbin, default
// deny) and the limits on guessing. Whose objects a request may touch comes back
// as a scope, which the query then filters by.
package access
