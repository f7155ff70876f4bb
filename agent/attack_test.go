package agent

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/coder/websocket"

	"rockpool/shared/wire"
	"rockpool/shared/wire/wiretest"
)

// TestAttack_A19_TheAgentRefusesBombs: the other side may be a stranger. The
// agent ends the connection with 4002 and lives on.
func TestAttack_A19_TheAgentRefusesBombs(t *testing.T) {
	for name, bomb := range wiretest.Bombs(t) {
		t.Run(name, func(t *testing.T) {
			ends := make(chan wire.CloseCode, 1)
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if code := throw(w, r, bomb); code != 0 {
					select {
					case ends <- code:
					default:
					}
				}
			}))
			defer server.Close()
			n := begin(t, testConfig(t, server.URL))
			select {
			case code := <-ends:
				if code != wire.CloseBadMessage {
					t.Errorf("the agent closed with %s, want bad message", code)
				}
			case <-time.After(patience):
				t.Fatal("the agent did not close the connection")
			}
			n.stop()
		})
	}
}

// throw answers the agent's hello with a bomb and gives the code of its end.
func throw(w http.ResponseWriter, r *http.Request, bomb []byte) wire.CloseCode {
	conn, err := websocket.Accept(w, r, &websocket.AcceptOptions{Subprotocols: []string{wire.Subprotocol}})
	if err != nil {
		return 0
	}
	defer conn.CloseNow()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if _, _, err := conn.Read(ctx); err != nil {
		return 0
	}
	if err := conn.Write(ctx, websocket.MessageBinary, bomb); err != nil {
		return 0
	}
	for {
		if _, _, err := conn.Read(ctx); err != nil {
			return wire.CloseCode(websocket.CloseStatus(err))
		}
	}
}
