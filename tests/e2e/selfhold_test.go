package e2e

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"rockpool/tests/rig"
)

// A node whose program is gone fails three jobs and then takes no more, and whoever
// looks at the node reads why.
func TestSelfHold_IsShownWithItsReason(t *testing.T) {
	t.Parallel()
	u, w := newTenant(t, server(t)), newWorkshop(t)
	program := w.Script("gone", "#!/bin/sh\n")
	a := rig.NewAgent(t, u.s, rig.AgentOptions{Name: u.name, License: u.license.LicenseCode, Slots: 1, More: fmt.Sprintf("[[runner]]\nname = \"gone\"\nargv = [%q]\n", program)})
	u.await(u.submit(runner("gone")).ID, "succeeded")
	if err := os.Remove(program); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if now := u.await(u.submit(runner("gone"), once).ID, "dead"); !strings.Contains(now.Detail, program) {
			t.Errorf("a job is %s", inWords(now))
		}
	}
	rig.Await(t, patience, func() (bool, string) {
		node, err := u.client.Node(t.Context(), a.Name)
		return err == nil && !node.Accepting && strings.HasPrefix(node.AcceptReason, "starts_failing: ") && strings.Contains(node.AcceptReason, program), fmt.Sprintf("%+v, %v", node, err)
	})
	u.mustBe(u.submit(runner("gone")), "queued", "pool_exhausted")
}
