package store

import (
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/base32"
	"encoding/json"
	"errors"
	"slices"

	"github.com/uptrace/bun"

	"rockpool/backend/internal/core/fleet"
	"rockpool/backend/internal/record"
)

// registration is one try to make a node's record.
type registration struct {
	license licenseRow
	id      string
	role    string
	secret  [32]byte
	machine string
}

// RegisterNode makes the record of a new node of a license, in the pool of the
// license's user. A secret that has a node already gives that node, without
// another seat: a lost answer is retried so. wish is the id asked for (empty: one
// is made up); role empty: the license's first.
//
// A node that has left comes back with its secret when a seat is free. Its id may
// be taken with another secret by nodes of the same user only: old work bears it.
//
// Errors: license_refused, license_limit, node_id_taken, unauthenticated (the
// secret was revoked).
func (db *DB) RegisterNode(ctx context.Context, actor record.Actor, license, wish, role string, secretSum [32]byte, machineID string) (record.Node, error) {
	for {
		id, err := db.registerOnce(ctx, actor, registration{id: wish, role: role, secret: secretSum, machine: machineID}, license)
		if errors.Is(err, errAgain) {
			continue
		}
		if err != nil {
			return record.Node{}, err
		}
		return db.Node(ctx, id)
	}
}

// errAgain: the same secret was registered in between under another license, or
// a made-up id was there already.
var errAgain = errors.New("register again")

func (db *DB) registerOnce(ctx context.Context, actor record.Actor, r registration, license string) (id string, err error) {
	err = db.inTx(ctx, "register a node", func(ctx context.Context, tx bun.Tx) error {
		if id, err = nodeWithSecret(ctx, tx, r.secret); err != nil || id != "" {
			return err
		}
		if r.license, err = lockLicense(ctx, tx, license); err != nil {
			return err
		}
		// Once more under the lock: the same secret may have come fifty times.
		if id, err = nodeWithSecret(ctx, tx, r.secret); err != nil || id != "" {
			return err
		}
		if err := r.admit(); err != nil {
			return err
		}
		var pool, as string
		if id, pool, as, err = r.write(ctx, tx); err != nil {
			return err
		}
		return audit(ctx, tx, actor, change{
			action: "node_registered", object: "node:" + id,
			after: map[string]any{"license": r.license.ID, "owner": r.license.User, "pool": pool, "role": as},
		})
	})
	if isUnique(err) {
		return "", errAgain
	}
	return id, err
}

// nodeWithSecret finds the node that has this secret and has not left; empty: none.
func nodeWithSecret(ctx context.Context, tx bun.Tx, secret [32]byte) (string, error) {
	var rows []struct {
		ID      string `bun:"id"`
		Left    bool   `bun:"has_left"`
		Revoked bool   `bun:"revoked"`
	}
	err := tx.NewRaw("SELECT id, left_at IS NOT NULL AS has_left, revoked_at IS NOT NULL AS revoked FROM nodes WHERE secret_sum = ?",
		secret[:]).Scan(ctx, &rows)
	switch {
	case err != nil:
		return "", err
	case len(rows) == 0 || rows[0].Left && !rows[0].Revoked:
		return "", nil
	case rows[0].Revoked:
		return "", fleet.Errorf(fleet.CodeUnauthenticated, "this node's secret was revoked")
	}
	return rows[0].ID, nil
}

// lockLicense serializes the registrations of one license, so that its limit is
// exact, and counts the seats under the lock.
func lockLicense(ctx context.Context, tx bun.Tx, id string) (licenseRow, error) {
	var row licenseRow
	var over bool // by the database's clock
	err := tx.NewRaw("SELECT coalesce(expires_at <= now(), false) FROM licenses WHERE id = ? FOR UPDATE", id).Scan(ctx, &over)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return row, fleet.Errorf(fleet.CodeLicenseRefused, "there is no such license")
	case over:
		return row, fleet.Errorf(fleet.CodeLicenseRefused, "the license has expired")
	case err != nil:
		return row, err
	}
	err = selectLicenses(tx, &row).Where("l.id = ?", id).Scan(ctx)
	return row, err
}

func (r *registration) admit() error {
	l := &r.license
	if r.role == "" {
		r.role = l.Roles[0]
	}
	switch {
	case l.RevokedAt != nil:
		return fleet.Errorf(fleet.CodeLicenseRefused, "the license was revoked")
	case !slices.Contains(l.Roles, r.role):
		return fleet.Errorf(fleet.CodeLicenseRefused, "the license does not bring the role "+r.role)
	case l.Used >= l.Nodes:
		return fleet.Errorf(fleet.CodeLicenseLimit, "all nodes of the license are registered: let one leave, or get a license for more")
	}
	return nil
}

// write makes the row, or takes over that of a node that has left: the one with
// the same secret, or one of the same user with the id asked for. It says which
// node it is, and its pool and role, which may be those of before.
func (r *registration) write(ctx context.Context, tx bun.Tx) (id, pool, role string, err error) {
	id = r.id
	var left []string
	err = tx.NewRaw("SELECT id FROM nodes WHERE secret_sum = ? FOR NO KEY UPDATE", r.secret[:]).Scan(ctx, &left)
	if err != nil {
		return "", "", "", err
	}
	switch {
	case len(left) == 1:
		id = left[0]
	case id == "":
		id = madeUpID()
	}
	err = tx.NewRaw(`
		INSERT INTO nodes AS n (id, owner_id, pool_id, role, license_id, secret_sum) VALUES (?0, ?1, ?2, ?3, ?4, ?5)
		ON CONFLICT (id) DO UPDATE SET owner_id = ?1, license_id = ?4, secret_sum = ?5, left_at = NULL, revoked_at = NULL, version = n.version + 1,
			pool_id = CASE WHEN n.owner_id = ?1 AND n.secret_sum = ?5 THEN n.pool_id ELSE ?2 END,
			role = CASE WHEN n.owner_id = ?1 AND n.secret_sum = ?5 THEN n.role ELSE ?3 END
		WHERE n.left_at IS NOT NULL AND (n.owner_id = ?1 OR n.secret_sum = ?5)
		RETURNING coalesce(pool_id, 'default'), role`,
		id, r.license.User, fleet.OwnerPool(r.license.User), r.role, r.license.ID, r.secret[:]).Scan(ctx, &pool, &role)
	switch {
	case errors.Is(err, sql.ErrNoRows) && r.id == "":
		return "", "", "", errAgain
	case errors.Is(err, sql.ErrNoRows):
		return "", "", "", fleet.Errorf(fleet.CodeNodeIDTaken, "the node id "+id+" belongs to another node: choose another one")
	case err != nil:
		return "", "", "", err
	}
	if _, err := tx.NewRaw("DELETE FROM node_identities WHERE node_id = ?", id).Exec(ctx); err != nil { // it begins anew
		return "", "", "", err
	}
	machine, err := json.Marshal(report{MachineID: r.machine})
	if err != nil {
		return "", "", "", err
	}
	_, err = tx.NewRaw("INSERT INTO node_reports (node_id, report) VALUES (?, ?::jsonb) ON CONFLICT DO NOTHING", id, string(machine)).Exec(ctx)
	return id, pool, role, err
}

var lowerBase32 = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)

// madeUpID names a node that asked for no name: node-<8 characters>.
func madeUpID() string {
	var b [5]byte
	rand.Read(b[:])
	return "node-" + lowerBase32.EncodeToString(b[:])
}
