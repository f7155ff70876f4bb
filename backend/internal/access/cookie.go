package access

import (
	"net/http"
	"strings"
	"time"

	"rockpool/backend/internal/core/fleet"
	"rockpool/backend/internal/enroll"
)

// CookieName of a console session. Browsers take a __Host- cookie only over TLS
// (or on the machine itself), from this very host, for all paths.
const CookieName = "__Host-rockpool"

// ConsoleLife is how long a console session lasts at most.
const ConsoleLife = 7 * 24 * time.Hour

// NewCookie carries the secret of a console session to the browser; no script can
// read it, and no other site's request brings it along.
func NewCookie(secret string) *http.Cookie {
	return &http.Cookie{
		Name: CookieName, Value: secret, Path: "/", MaxAge: int(ConsoleLife.Seconds()),
		Secure: true, HttpOnly: true, SameSite: http.SameSiteStrictMode,
	}
}

// ExpiredCookie makes the browser forget.
func ExpiredCookie() *http.Cookie {
	cookie := NewCookie("")
	cookie.MaxAge = -1
	return cookie
}

// ConsoleCookie gives the SHA-256 of the console session's secret in a request's
// cookies, if there is one. Two of them, or one of another shape, are refused.
func ConsoleCookie(header http.Header) (sum enroll.Sum, there bool, err error) {
	if len(header.Values("Cookie")) == 0 {
		return sum, false, nil
	}
	cookies := (&http.Request{Header: header}).CookiesNamed(CookieName)
	if len(cookies) == 0 {
		return sum, false, nil
	}
	sum, ok := enroll.ParseConsoleSecret(cookies[0].Value)
	if len(cookies) > 1 || !ok {
		return sum, true, refuse("the cookie is not one of ours: sign in")
	}
	return sum, true, nil
}

var crossOrigin = http.NewCrossOriginProtection()

// SameOrigin refuses a request that a page of another site may have caused, or
// one that whoever sits on the way made up: the check of the host alone takes it
// for ours. What a cookie authorizes must show where it comes from: every browser
// says so.
func SameOrigin(r *http.Request, byCookie bool) error {
	if err := crossOrigin.Check(r); err != nil {
		return fleet.Errorf(fleet.CodeForbidden, "the request comes from another site")
	}
	if r.TLS != nil && strings.HasPrefix(strings.ToLower(r.Header.Get("Origin")), "http:") {
		return fleet.Errorf(fleet.CodeForbidden, "the request comes from a page without TLS")
	}
	safe := r.Method == http.MethodGet || r.Method == http.MethodHead || r.Method == http.MethodOptions
	if byCookie && !safe && r.Header.Get("Origin") == "" && r.Header.Get("Sec-Fetch-Site") == "" {
		return fleet.Errorf(fleet.CodeForbidden, "a request that a cookie authorizes says its Origin")
	}
	return nil
}
