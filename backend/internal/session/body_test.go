package session

import (
	"net"
	"net/http"
	"testing"
	"time"

	"rockpool/shared/wire"
	"rockpool/shared/wsconn/wsconntest"
)

// An upgrade that announces a body and never sends it is answered at once: within
// its bubble's own time, and the gateway's end waits for none of it.
func TestUpgrade_RefusesABodyUnread(t *testing.T) {
	bubble(t, nil, func(t *testing.T, r *rig, p *pipes) {
		began := time.Now()
		for name, header := range map[string]http.Header{
			"agent":   bearer(r.node("ams-1")),
			"console": {"Cookie": {"__Host-rockpool=x"}, "Origin": {"http://x"}},
			"nobody":  {},
		} {
			for key, value := range map[string]string{"Content-Length": "40", "Transfer-Encoding": "chunked"} {
				client, server := net.Pipe()
				p.accepted <- server
				header := header.Clone()
				header.Set(key, value)
				header.Set("Sec-WebSocket-Protocol", wire.Subprotocol)
				_, answer, err := wsconntest.Upgrade(client, header)
				if err != nil || answer.StatusCode != http.StatusBadRequest || !answer.Close {
					t.Errorf("%s with %s: %+v, %v", name, key, answer, err)
				}
				_ = client.SetReadDeadline(time.Now().Add(time.Minute))
				if _, err := client.Read(make([]byte, 4<<10)); err == nil {
					_, err = client.Read(make([]byte, 1)) // behind the answer's body
					if err == nil {
						t.Errorf("%s with %s: the connection goes on", name, key)
					}
				}
				_ = client.Close()
			}
		}
		if took := time.Since(began); took > 0 {
			t.Errorf("the answers took %v", took)
		}
	})
}

// An upgrade that waits for the database is put off when the server stops.
func TestGateway_CloseWaitsForNoLookUp(t *testing.T) {
	bubble(t, nil, func(t *testing.T, r *rig, p *pipes) {
		header := bearer(r.node("ams-1"))
		r.store.stalled = make(chan struct{})
		client, server := net.Pipe()
		p.accepted <- server
		status := make(chan int)
		go func() {
			_, answer, err := wsconntest.Upgrade(client, header)
			if err != nil {
				t.Error(err)
			}
			status <- answer.StatusCode
			_ = client.Close()
		}()
		<-r.store.stalled
		closed, began := make(chan error), time.Now()
		go func() { closed <- r.gateway.Close(t.Context()) }()
		if got := <-status; got != http.StatusServiceUnavailable {
			t.Errorf("answered %d", got)
		}
		if err := <-closed; err != nil || time.Since(began) > 0 {
			t.Errorf("closed after %v: %v", time.Since(began), err)
		}
	})
}
