package enroll

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"rockpool/backend/internal/core/fleet"
	"rockpool/backend/internal/record"
)

// Claim is what a hello asks for. Nothing of it is believed: the record decides.
type Claim struct {
	NodeID    string // wish, heard at a first registration only
	Role      string // empty: whatever the record or license gives
	MachineID string // shown, never an authority
	Capacity  fleet.Vector
	Address   netip.Addr
}

// Registered is the record that a session works under.
type Registered struct {
	Node     record.Member
	Capacity fleet.Vector // the claim, clamped to the license, to what an operator allows and to fleet.MaxSlots
	// IgnoredRole is a claimed role that the record did not have, or empty.
	IgnoredRole string
}

// Register gives the credential's node, and makes it first where a license lets
// it: in pool-<license's user>, with a role of the license. Errors are
// *fleet.Error: license_refused, license_limit, node_id_taken, unavailable. A
// refusal counts against the address like a wrong secret: each costs a lock on
// the license.
func (d *Desk) Register(ctx context.Context, c Credential, claim Claim) (Registered, error) {
	// What a lost answer was about may be in the store and not yet in the loop: a new
	// node, or the next secret of one.
	if c.Kind == KindLicense || c.Node.Next {
		if err := d.acquaint(ctx, &c, claim); err != nil {
			return Registered{}, err
		}
	}
	d.attempts.succeeded(c.Secret)
	return d.settle(c.Node, claim), nil
}

// acquaint makes the credential's node known to the loop, and makes it first where
// there is none.
func (d *Desk) acquaint(ctx context.Context, c *Credential, claim Claim) error {
	node, err := d.wholeNode(ctx, *c, claim)
	if err != nil {
		return err
	}
	if err := d.loop.PutNode(ctx, node.NodeRecord); err != nil {
		return fmt.Errorf("make node %s known to the dispatch loop: %w", node.ID, err)
	}
	if !c.Known {
		c.Node, err = d.store.MemberBySecret(ctx, c.Secret)
	}
	return err
}

func (d *Desk) wholeNode(ctx context.Context, c Credential, claim Claim) (record.Node, error) {
	if c.Known {
		return d.store.Node(ctx, c.Node.ID)
	}
	node, err := d.newNode(ctx, c, claim)
	if err != nil {
		d.countRefusal(err, c, claim)
	}
	return node, err
}

func (d *Desk) newNode(ctx context.Context, c Credential, claim Claim) (record.Node, error) {
	if err := d.usable(c.License); err != nil {
		return record.Node{}, err
	}
	role, err := chooseRole(c.License, claim.Role)
	if err != nil {
		return record.Node{}, err
	}
	actor := record.Actor{Subject: "license:" + c.License.ID, Address: claim.Address.String()}
	node, err := d.store.RegisterNode(ctx, actor, c.License.ID, claim.NodeID, role, c.Secret, claim.MachineID)
	if err != nil {
		return record.Node{}, fmt.Errorf("register a node: %w", err)
	}
	d.log.Info("node registered", "node", node.ID, "license", c.License.ID, "pool", node.Pool, "role", node.Role)
	return node, nil
}

// countRefusal counts what the license refused, and no fault of ours.
func (d *Desk) countRefusal(err error, c Credential, claim Claim) {
	var known *fleet.Error
	if errors.As(err, &known) && known.Code.Status() < 500 {
		d.attempts.failed(claim.Address, c.Secret)
	}
}

// usable spares the database a transaction that can't succeed; the store checks
// again under the license's lock.
func (d *Desk) usable(l record.License) error {
	switch {
	case l.RevokedAt != nil:
		return fleet.Errorf(fleet.CodeLicenseRefused, "the license was revoked")
	case l.ExpiresAt != nil && !d.now().Before(*l.ExpiresAt):
		return fleet.Errorf(fleet.CodeLicenseRefused, "the license has expired")
	}
	return nil
}

func chooseRole(l record.License, claimed string) (string, error) {
	if len(l.Roles) == 0 {
		return "", fleet.Errorf(fleet.CodeLicenseRefused, "the license brings no role")
	}
	if claimed == "" {
		return l.Roles[0], nil
	}
	if !slices.Contains(l.Roles, claimed) {
		return "", fleet.Errorf(fleet.CodeLicenseRefused, fmt.Sprintf("the license does not bring the role %q: use one of %q", claimed, l.Roles))
	}
	return claimed, nil
}

// settle drops and clamps what the record does not give.
func (d *Desk) settle(node record.Member, claim Claim) Registered {
	r := Registered{Node: node, Capacity: claim.Capacity}
	most := int64(fleet.MaxSlots)
	if node.MaxSlots > 0 {
		most = min(most, node.MaxSlots)
	}
	if r.Capacity.Slots > most {
		d.log.Warn("claimed slots clamped", "node", node.ID, "claimed", claim.Capacity.Slots, "slots", most)
		r.Capacity.Slots = most
	}
	if claim.Role != "" && claim.Role != node.Role {
		r.IgnoredRole = claim.Role
	}
	return r
}
