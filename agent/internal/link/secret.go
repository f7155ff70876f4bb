package link

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
)

// PutSecret hands a secret in that is to take the place of the node's own, under
// the rotation that asked for it. Errors: *StatusError, or what the network says;
// handing in the same one again does no harm.
func (c *Client) PutSecret(ctx context.Context, rotation, secret string) error {
	ctx, cancel := context.WithTimeout(ctx, c.wait)
	defer cancel()
	body, err := json.Marshal(map[string]string{"id": rotation, "secret": secret})
	if err != nil {
		return fmt.Errorf("hand in a new secret: %w", err)
	}
	address := c.server.JoinPath("v1", "node", "secret").String()
	request, err := http.NewRequestWithContext(ctx, http.MethodPut, address, bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("hand in a new secret: %w", err)
	}
	request.Header.Set("Authorization", "Bearer "+c.secret())
	request.Header.Set("Content-Type", "application/json")
	response, err := c.do(request, http.StatusOK, http.StatusNoContent)
	if err != nil {
		return fmt.Errorf("hand in a new secret: %w", err)
	}
	_, _ = io.Copy(io.Discard, io.LimitReader(response.Body, 4<<10)) // so that the connection is used again
	return response.Body.Close()
}
