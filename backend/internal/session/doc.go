// Package session holds the sockets of the channel's nodes.
//
// A request to GET /v1/channel shows a credential, is upgraded, says hello, is
// registered and becomes the session of its node under an epoch that the
// dispatch loop gives. From then on the session turns what the node says into
// events of the loop, and the hub turns what the loop sends into messages.
// Nothing is decided here: authority comes from the credential's record, and a
// claim of it in a message is dropped, counted and audited.
//
// Files: gateway.go the endpoint; session.go one connection from hello to its
// end; message.go what a node may say; hub.go which session is a node's current
// one; tails.go the logs that somebody follows; report.go, result.go and send.go the translations.
package session
