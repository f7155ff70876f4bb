package rest

// SessionRequest is the body of POST /v1/session: signing in.
type SessionRequest struct {
	Name     string `json:"name"`
	Password string `json:"password"`
}

// Session is who is signed in.
type Session struct {
	User  User     `json:"user"`
	Roles []string `json:"roles"`
	Fleet string   `json:"fleet,omitempty"` // its name, for people
}

// PasswordChange is the body of PUT /v1/session/password.
type PasswordChange struct {
	Current  string `json:"current"`
	Password string `json:"password"` // 12..128 bytes
}

// PasswordRequest is the body of PUT /v1/admin/users/{id}/password.
type PasswordRequest struct {
	Password string `json:"password"` // 12..128 bytes
	Reason   string `json:"reason,omitempty"`
}
