package rest

// User is an account.
type User struct {
	ID        string   `json:"id"` // decimal
	Name      string   `json:"name"`
	Roles     []string `json:"roles"`  // for the whole fleet: superadmin, operator, viewer, user
	Grants    []Grant  `json:"grants"` // roles for single pools
	Disabled  bool     `json:"disabled"`
	CreatedAt Time     `json:"createdAt"`
}

// Grant is a role for one pool: its holder sees that pool, its nodes and its queue,
// and nothing of the others.
type Grant struct {
	Role string `json:"role"` // operator, viewer
	Pool string `json:"pool"`
}

// UserRequest is the body of POST /v1/admin/users.
type UserRequest struct {
	Name     string   `json:"name"`
	Roles    []string `json:"roles,omitempty"`    // ["user"]
	Password string   `json:"password,omitempty"` // 12..128 bytes; absent: none
}

// RolesRequest is the body of PUT /v1/admin/users/{id}/roles: one of the lists at
// least is not empty.
type RolesRequest struct {
	Roles  []string `json:"roles"`
	Grants *[]Grant `json:"grants,omitempty"` // absent: they stay
	Reason string   `json:"reason,omitempty"`
}

// Token is an API token without its secret.
type Token struct {
	ID         string   `json:"id"`
	User       string   `json:"user"`
	Name       string   `json:"name"`
	Scopes     []string `json:"scopes"` // empty: all that the user may; read: no change
	ExpiresAt  *Time    `json:"expiresAt,omitempty"`
	CreatedAt  Time     `json:"createdAt"`
	LastUsedAt *Time    `json:"lastUsedAt,omitempty"`
}

// TokenRequest is the body of POST /v1/tokens and POST /v1/admin/users/{id}/tokens.
type TokenRequest struct {
	Name      string   `json:"name"`
	Scopes    []string `json:"scopes,omitempty"`
	ExpiresAt *Time    `json:"expiresAt,omitempty"`
}

// NewToken shows a token's secret, once.
type NewToken struct {
	Token
	Secret string `json:"token"` // rp_…
}

// SetupRequest exchanges the one-time setup token for the first superadmin. With
// a password that user signs in, without one there is an API token.
type SetupRequest struct {
	SetupToken string `json:"setupToken"`
	Name       string `json:"name,omitempty"`     // admin
	Password   string `json:"password,omitempty"` // 12..128 bytes
}

// SetupDone is the first superadmin and, unless a password was given, the API
// token, shown once.
type SetupDone struct {
	User  User      `json:"user"`
	Token *NewToken `json:"token,omitempty"`
}

// App is what work belongs to.
type App struct {
	ID        string  `json:"id"`
	Owner     *string `json:"owner"` // user id; null: none
	Share     Share   `json:"share"`
	CreatedAt Time    `json:"createdAt"`
	Version   int64   `json:"version"` // ETag, If-Match
}

// Share is what an app may have: its weight against others that wait for the same
// pool, and bounds; a bound of 0 is none.
type Share struct {
	Weight        int32 `json:"weight"`        // 100 of 1 to 1000
	MaxOpenJobs   int64 `json:"maxOpenJobs"`   // a submit past it is refused
	MaxPlacements int64 `json:"maxPlacements"` // a placement past it is refused
	MaxSlots      int64 `json:"maxSlots"`      // of jobs and placements together: jobs wait, placements are refused
}

// ShareRequest is the body of PUT /v1/admin/apps/{id}/share.
type ShareRequest struct {
	Share
	Reason string `json:"reason,omitempty"`
}

// AppRequest is the body of POST /v1/admin/apps.
type AppRequest struct {
	ID    string  `json:"id"`
	Owner *string `json:"owner,omitempty"` // user id; absent or null: none
}

// License lets nodes join.
type License struct {
	ID        string   `json:"id"`
	User      string   `json:"user"`
	Roles     []string `json:"roles"` // the first is the default
	Nodes     int64    `json:"nodes"`
	Used      int64    `json:"used"`
	MaxSlots  int64    `json:"maxSlots,omitempty"` // per node; absent: no clamp
	ExpiresAt *Time    `json:"expiresAt,omitempty"`
	RevokedAt *Time    `json:"revokedAt,omitempty"`
	CreatedAt Time     `json:"createdAt"`
}

// LicenseRequest is the body of POST /v1/admin/licenses.
type LicenseRequest struct {
	User      string   `json:"user"`
	Roles     []string `json:"roles,omitempty"` // ["worker"]
	Nodes     *int64   `json:"nodes,omitempty"` // 1
	MaxSlots  *int64   `json:"maxSlots,omitempty"`
	ExpiresAt *Time    `json:"expiresAt,omitempty"`
}

// NewLicense shows a license's code, once.
type NewLicense struct {
	License
	LicenseCode string `json:"licenseCode"` // RPL-…
}
