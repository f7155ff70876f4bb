package store

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"rockpool/backend/internal/core"
	"rockpool/backend/internal/core/fleet"
)

// What the deciding code knows of nodes' identities: the chain and the claimants.
// What people and nodes write (keep, rotation, secret_next) stays, until a rotation
// is over.
const putIdentitiesSQL = `
	INSERT INTO node_identities AS i (node_id, chain_current, chain_pending, chain_past, claimants)
	SELECT n.id, u.current, u.pending, u.past, u.claimants::jsonb
	FROM unnest($1::text[], $2::bytea[], $3::bytea[], $4::bytea[], $5::text[]) AS u(node, current, pending, past, claimants)
	JOIN nodes n ON n.id = u.node
	WHERE n.id = ANY ($1)
	ON CONFLICT (node_id) DO UPDATE SET chain_current = excluded.chain_current, chain_pending = excluded.chain_pending,
		chain_past = excluded.chain_past, claimants = excluded.claimants`

// A secret counts only if it is still the one that was put for this very rotation.
const turnSecretsSQL = `
	UPDATE nodes AS n SET secret_sum = i.secret_next
	FROM unnest($1::text[], $2::text[], $3::bytea[]) AS u(node, rotation, secret) JOIN node_identities i ON i.node_id = u.node
	WHERE n.id = ANY ($1) AND n.id = u.node AND i.node_id = ANY ($1) AND i.rotation = u.rotation AND i.secret_next = u.secret`

// Its time is kept when the secret has turned.
const endRotationsSQL = `
	UPDATE node_identities AS i SET keep = '', rotation = '', secret_next = NULL,
		rotated_at = CASE WHEN EXISTS (SELECT FROM nodes n WHERE n.id = i.node_id AND n.secret_sum = i.secret_next) THEN now() ELSE i.rotated_at END
	FROM unnest($1::text[], $2::text[]) AS u(node, rotation)
	WHERE i.node_id = ANY ($1) AND i.node_id = u.node AND i.rotation = u.rotation`

func (r *round) queueIdentities() {
	var c [5]array
	var over, turned [3]array
	for i := range r.e.Identities {
		w := &r.e.Identities[i]
		c[0].text(w.Node)
		c[1].bytes(orNone(w.Identity.Current))
		c[2].bytes(joined(w.Identity.Pending))
		c[3].bytes(joined(w.Identity.Past))
		c[4].text(storable(r.w.claimants(w.Identity.Claimants)))
		if w.Over != "" {
			over[0].text(w.Node)
			over[1].text(w.Over)
		}
		if w.Secret != (fleet.Sum{}) {
			turned[0].text(w.Node)
			turned[1].text(w.Over)
			turned[2].bytes(w.Secret[:])
		}
	}
	if c[0].n > 0 {
		r.batch.Queue(putIdentitiesSQL, &c[0], &c[1], &c[2], &c[3], &c[4])
	}
	if turned[0].n > 0 {
		r.batch.Queue(turnSecretsSQL, &turned[0], &turned[1], &turned[2])
	}
	if over[0].n > 0 {
		r.batch.Queue(endRotationsSQL, &over[0], &over[1])
	}
}

// identityNodes are the nodes whose rows these statements may change.
func identityNodes(writes []core.IdentityWrite) (nodes []string) {
	for i := range writes {
		nodes = append(nodes, writes[i].Node)
	}
	return nodes
}

// claimant is a fleet.Claimant as node_identities keeps it.
type claimant struct {
	ID           string    `json:"id"`
	Chain        []byte    `json:"chain,omitempty"` // SHA-256
	MachineID    string    `json:"machineId,omitempty"`
	BootID       string    `json:"bootId,omitempty"`
	Address      string    `json:"address,omitempty"`
	AgentVersion string    `json:"agentVersion,omitempty"`
	Seen         time.Time `json:"seen"`
	Holder       bool      `json:"holder,omitempty"`
}

func (w *Writer) claimants(list []fleet.Claimant) string {
	rows := make([]claimant, len(list))
	for i, c := range list {
		rows[i] = claimant{
			ID: c.ID, Chain: orNone(c.Chain), MachineID: c.MachineID, BootID: c.BootID, Address: c.Address, AgentVersion: c.AgentVersion,
			Seen: w.at(c.Seen).UTC(), Holder: c.Holder,
		}
	}
	data, _ := json.Marshal(rows) // texts and times always have a JSON form
	return string(data)
}

// readIdentity fills in what selectNodes reads of a node's identity.
func (db *DB) readIdentity(row *identityRow, id *fleet.Identity) error {
	copy(id.Current[:], row.current)
	copy(id.NextSecret[:], row.next)
	id.Pending, id.Past = apart(row.pending), apart(row.past)
	if row.keep != nil {
		id.Keep, id.Rotation = *row.keep, *row.rotation
	}
	if row.claimants == nil {
		return nil
	}
	var rows []claimant
	if err := json.Unmarshal(row.claimants, &rows); err != nil {
		return fmt.Errorf("claimants: %w", err)
	}
	for _, c := range rows {
		read := fleet.Claimant{
			ID: c.ID, MachineID: c.MachineID, BootID: c.BootID, Address: c.Address, AgentVersion: c.AgentVersion,
			Seen: db.at(c.Seen), Holder: c.Holder,
		}
		copy(read.Chain[:], c.Chain)
		id.Claimants = append(id.Claimants, read)
	}
	return nil
}

// identityRow are the columns of node_identities; all NULL where a node has none.
type identityRow struct {
	current, pending, past, claimants, next []byte
	keep, rotation                          *string
}

func orNone(s fleet.Sum) []byte {
	if s == (fleet.Sum{}) {
		return nil
	}
	return s[:]
}

func joined(list []fleet.Sum) []byte {
	all := []byte{}
	for _, s := range list {
		all = append(all, s[:]...)
	}
	return all
}

func apart(all []byte) (list []fleet.Sum) {
	for s := range slices.Chunk(all, len(fleet.Sum{})) {
		list = append(list, fleet.Sum(s))
	}
	return list
}
