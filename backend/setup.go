package backend

import (
	"context"
	"fmt"
	"io"
	"net"
	"time"

	"rockpool/backend/internal/enroll"
)

// setupValid is how long the link of a start can be used; the next start prints
// another one.
const setupValid = 24 * time.Hour

// offerSetup prints a one-time link while there is no superadmin. It goes to the
// terminal only: logs carry no secrets.
func (o *owner) offerSetup(ctx context.Context, address net.Addr, terminal io.Writer) error {
	exists, err := o.db.SuperadminExists(ctx)
	if err != nil {
		return fmt.Errorf("look for a superadmin: %w", err)
	}
	if exists {
		return nil
	}
	token := enroll.NewSetupToken()
	if err := o.db.SetSetupToken(ctx, token.Sum, time.Now().Add(setupValid)); err != nil {
		return fmt.Errorf("keep the setup token: %w", err)
	}
	scheme := "http"
	if o.cfg.TLSCert != "" {
		scheme = "https"
	}
	_, err = fmt.Fprintf(terminal, "There is no superadmin yet. This link makes the first one; it works once, within a day:\n"+
		"  %s://%s/setup#token=%s\nor: rockpool --server %s://%s admin setup, and paste the link\n",
		scheme, address, token.Text, scheme, address)
	return err
}
