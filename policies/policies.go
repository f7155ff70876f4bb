// Package policies embeds who may do what: Casbin's model and the rules.
package policies

import _ "embed"

// Model is Casbin's model: equality of subject, object and action, default deny.
//
//go:embed model.conf
var Model string

// Rules are the rows of the policy: subject, object, action, scope.
//
//go:embed policy.csv
var Rules string
