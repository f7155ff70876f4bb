package store

import (
	"context"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/uptrace/bun"

	"rockpool/backend/internal/core/fleet"
	"rockpool/backend/internal/record"
)

type tokenRow struct {
	bun.BaseModel `bun:"table:tokens,alias:t"`

	ID        string     `bun:"id,pk"`
	User      int64      `bun:"user_id"`
	Name      string     `bun:"name"`
	Scopes    []string   `bun:"scopes,array"`
	Sum       []byte     `bun:"sum"`
	ExpiresAt *time.Time `bun:"expires_at"`
	CreatedAt time.Time  `bun:"created_at,nullzero"`
	LastUsed  *time.Time `bun:"last_used"`
}

func (r *tokenRow) record() record.Token {
	return record.Token{
		ID: r.ID, User: r.User, Name: r.Name, Scopes: r.Scopes,
		ExpiresAt: utc(r.ExpiresAt), CreatedAt: r.CreatedAt.UTC(), LastUsed: utc(r.LastUsed),
	}
}

// newID makes an id that sorts by the time of making.
func newID() (string, error) {
	id, err := uuid.NewV7()
	return id.String(), err
}

// CreateToken keeps a new API token of token.User; of the secret only its
// SHA-256. An empty id is made up.
func (db *DB) CreateToken(ctx context.Context, actor record.Actor, token record.Token, secretSum [32]byte) (record.Token, error) {
	var made record.Token
	err := db.inTx(ctx, "create a token", func(ctx context.Context, tx bun.Tx) (err error) {
		made, err = createToken(ctx, tx, actor, token, secretSum)
		return err
	})
	return made, err
}

func createToken(ctx context.Context, tx bun.Tx, actor record.Actor, token record.Token, sum [32]byte) (record.Token, error) {
	if token.ID == "" {
		id, err := newID()
		if err != nil {
			return record.Token{}, err
		}
		token.ID = id
	}
	row := tokenRow{ID: token.ID, User: token.User, Name: token.Name, Scopes: token.Scopes, Sum: sum[:], ExpiresAt: token.ExpiresAt}
	if row.Scopes == nil {
		row.Scopes = []string{}
	}
	_, err := tx.NewInsert().Model(&row).ExcludeColumn("created_at", "last_used").Returning("created_at, expires_at").Exec(ctx)
	if err != nil {
		return record.Token{}, err
	}
	after := map[string]any{"user": token.User, "name": token.Name, "scopes": row.Scopes}
	return row.record(), audit(ctx, tx, actor, change{action: "token_created", object: "token:" + row.ID, after: after})
}

// tokenTouch is how exact last_used is: a token in use costs a write a minute.
const tokenTouch = time.Minute

// TokenBySum finds the token with that SHA-256 and its user. An expired one and
// one of a disabled user are not found. It notes the use, roughly. What it found it
// may tell again for a moment (see bearers).
func (db *DB) TokenBySum(ctx context.Context, sum [32]byte) (record.Token, record.User, error) {
	now, changes := time.Now(), db.bearers.changes.Load()
	if known, ok := db.bearers.of(sum, now); ok {
		return known.token, known.user, nil
	}
	rows, err := db.queryHot(ctx, tokenBySumSQL, sum[:])
	if err != nil {
		return record.Token{}, record.User{}, problem("token", err)
	}
	bearer, err := pgx.CollectExactlyOneRow(rows, scanBearer)
	if err != nil {
		return record.Token{}, record.User{}, problem("token", err)
	}
	db.bearers.keep(sum, bearer, changes, now)
	token := &bearer.token
	if token.LastUsed == nil || time.Since(*token.LastUsed) > tokenTouch {
		// Only for people to look at: a failure does not turn the caller away.
		if _, err := db.bun.NewRaw("UPDATE tokens SET last_used = now() WHERE id = ?", token.ID).Exec(ctx); err != nil {
			db.log.Warn("a token's use was not noted", "error", err)
		}
	}
	return *token, bearer.user, nil
}

const tokenBySumSQL = `
	SELECT t.id, t.user_id, t.name, t.scopes, t.expires_at, t.created_at, t.last_used, u.id, u.name, u.disabled, u.created_at,
	       ` + rolesOfUser + ", " + grantsOfUser + `
	FROM tokens t JOIN users u ON u.id = t.user_id AND NOT u.disabled
	WHERE t.sum = $1 AND (t.expires_at IS NULL OR t.expires_at > now())`

func scanBearer(row pgx.CollectableRow) (b bearer, err error) {
	t, u := &b.token, &b.user
	var grants []string
	err = row.Scan(&t.ID, &t.User, &t.Name, &t.Scopes, &t.ExpiresAt, &t.CreatedAt, &t.LastUsed, &u.ID, &u.Name, &u.Disabled, &u.CreatedAt, &u.Roles, &grants)
	u.Grants = readGrants(grants)
	t.ExpiresAt, t.CreatedAt, t.LastUsed, u.CreatedAt = utc(t.ExpiresAt), t.CreatedAt.UTC(), utc(t.LastUsed), u.CreatedAt.UTC()
	return b, err
}

// Tokens lists a user's tokens, oldest first.
func (db *DB) Tokens(ctx context.Context, user int64, page record.Page) ([]record.Token, error) {
	var rows []tokenRow
	err := db.bun.NewSelect().Model(&rows).ExcludeColumn("sum").
		Where("t.user_id = ? AND t.id > ?", user, page.After).Order("t.id").Limit(limit(page)).Scan(ctx)
	if err != nil {
		return nil, problem("list tokens", err)
	}
	tokens := make([]record.Token, len(rows))
	for i := range rows {
		tokens[i] = rows[i].record()
	}
	return tokens, nil
}

// DeleteToken takes a token of that user out of use. Another user's is not found.
func (db *DB) DeleteToken(ctx context.Context, actor record.Actor, user int64, id string) error {
	defer db.bearers.changed()
	return db.inTx(ctx, "delete a token", func(ctx context.Context, tx bun.Tx) error {
		res, err := tx.NewRaw("DELETE FROM tokens WHERE id = ? AND user_id = ?", id, user).Exec(ctx)
		if err := oneRow(res, err, notFound("token "+id)); err != nil {
			return err
		}
		return audit(ctx, tx, actor, change{action: "token_deleted", object: "token:" + id, before: map[string]any{"user": user}})
	})
}

// SetSetupToken makes the token with that SHA-256 the only one that redeems,
// once, until it expires.
func (db *DB) SetSetupToken(ctx context.Context, sum [32]byte, expires time.Time) error {
	return db.inTx(ctx, "set the setup token", func(ctx context.Context, tx bun.Tx) error {
		if _, err := tx.NewRaw("DELETE FROM setup_tokens WHERE sum <> ?", sum[:]).Exec(ctx); err != nil {
			return err
		}
		_, err := tx.NewRaw(`INSERT INTO setup_tokens (sum, expires_at) VALUES (?, ?)
			ON CONFLICT (sum) DO UPDATE SET expires_at = excluded.expires_at`, sum[:], expires).Exec(ctx)
		return err
	})
}

// RedeemSetupToken makes a superadmin and uses the setup token up. With a password
// hash the superadmin signs in by that; without one there is a first token. A
// setup token that is used, expired or unknown is unauthenticated.
func (db *DB) RedeemSetupToken(ctx context.Context, actor record.Actor, sum [32]byte, userName, passwordHash string,
	token record.Token, tokenSum [32]byte) (record.User, record.Token, error) {
	var user record.User
	var made record.Token
	err := db.inTx(ctx, "redeem the setup token", func(ctx context.Context, tx bun.Tx) error {
		res, err := tx.NewRaw("UPDATE setup_tokens SET used_at = now() WHERE sum = ? AND used_at IS NULL AND expires_at > now()", sum[:]).Exec(ctx)
		refused := fleet.Errorf(fleet.CodeUnauthenticated, "the setup token is used, expired or wrong")
		if err := oneRow(res, err, refused); err != nil {
			return err
		}
		if user, err = createUser(ctx, tx, record.User{Name: userName, Roles: []string{roleSuperadmin}}, passwordHash); err != nil {
			return err
		}
		entry := change{action: "user_created", object: userObject(user.ID), after: userState(user), reason: "setup token"}
		if err := audit(ctx, tx, actor, entry); err != nil {
			return err
		}
		if passwordHash != "" {
			return nil
		}
		token.User = user.ID
		made, err = createToken(ctx, tx, actor, token, tokenSum)
		return err
	})
	return user, made, err
}
