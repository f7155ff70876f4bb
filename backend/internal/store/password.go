package store

import (
	"context"
	"strconv"
	"time"

	"github.com/uptrace/bun"

	"rockpool/backend/internal/record"
)

// PasswordOf finds an enabled user who has a password, by name, with its hash.
func (db *DB) PasswordOf(ctx context.Context, name string) (user record.User, hash string, err error) {
	var id int64
	err = db.bun.NewRaw(`SELECT u.id, p.hash FROM users u JOIN user_passwords p ON p.user_id = u.id
		WHERE u.name = ? AND NOT u.disabled`, name).Scan(ctx, &id, &hash)
	if err != nil {
		return record.User{}, "", problem("password", err)
	}
	user, err = userByID(ctx, db.bun, id)
	return user, hash, err
}

// SetPassword replaces a user's password, whose hash is given, and ends all of
// the user's console sessions.
func (db *DB) SetPassword(ctx context.Context, actor record.Actor, user int64, hash, reason string) error {
	return db.inTx(ctx, "set the password of user "+strconv.FormatInt(user, 10), func(ctx context.Context, tx bun.Tx) error {
		if _, err := userByID(ctx, tx, user); err != nil {
			return err
		}
		if err := putPassword(ctx, tx, user, hash); err != nil {
			return err
		}
		if err := endConsoleSessions(ctx, tx, user); err != nil {
			return err
		}
		return audit(ctx, tx, actor, change{action: "password_set", object: userObject(user), reason: reason})
	})
}

func putPassword(ctx context.Context, tx bun.Tx, user int64, hash string) error {
	_, err := tx.NewRaw(`INSERT INTO user_passwords (user_id, hash) VALUES (?, ?)
		ON CONFLICT (user_id) DO UPDATE SET hash = excluded.hash, changed_at = now()`, user, hash).Exec(ctx)
	return err
}

// consoleIdle ends a console session that nobody uses any more.
const consoleIdle = 12 * time.Hour

// CreateConsoleSession signs a user in until the session expires, or is idle for
// half a day. Of its secret only the SHA-256 is kept.
func (db *DB) CreateConsoleSession(ctx context.Context, actor record.Actor, user int64, sum [32]byte, expires time.Time) error {
	return db.inTx(ctx, "sign in", func(ctx context.Context, tx bun.Tx) error {
		_, err := tx.NewRaw("INSERT INTO console_sessions (sum, user_id, expires_at) VALUES (?, ?, ?)", sum[:], user, expires).Exec(ctx)
		if err != nil {
			return err
		}
		return audit(ctx, tx, actor, change{action: "signed_in", object: userObject(user)})
	})
}

// ConsoleSessionBySum finds the user of a console session. An expired or idle one
// and one of a disabled user are not found. It notes the use, roughly.
func (db *DB) ConsoleSessionBySum(ctx context.Context, sum [32]byte) (record.User, error) {
	var id int64
	var used time.Time
	err := db.bun.NewRaw(`SELECT s.user_id, s.last_used FROM console_sessions s JOIN users u ON u.id = s.user_id AND NOT u.disabled
		WHERE s.sum = ? AND s.expires_at > now() AND s.last_used > now() - make_interval(secs => ?)`, sum[:], consoleIdle.Seconds()).
		Scan(ctx, &id, &used)
	if err != nil {
		return record.User{}, problem("console session", err)
	}
	if time.Since(used) > tokenTouch {
		if _, err := db.bun.NewRaw("UPDATE console_sessions SET last_used = now() WHERE sum = ?", sum[:]).Exec(ctx); err != nil {
			db.log.Warn("a console session's use was not noted", "error", err)
		}
	}
	return userByID(ctx, db.bun, id)
}

// EndConsoleSession signs out. A second time is not_found.
func (db *DB) EndConsoleSession(ctx context.Context, actor record.Actor, user int64, sum [32]byte) error {
	return db.inTx(ctx, "sign out", func(ctx context.Context, tx bun.Tx) error {
		res, err := tx.NewRaw("DELETE FROM console_sessions WHERE sum = ? AND user_id = ?", sum[:], user).Exec(ctx)
		if err := oneRow(res, err, notFound("the console session")); err != nil {
			return err
		}
		return audit(ctx, tx, actor, change{action: "signed_out", object: userObject(user)})
	})
}

// endConsoleSessions signs a user out everywhere: after a change of the password
// or of rights everybody signs in anew.
func endConsoleSessions(ctx context.Context, tx bun.Tx, user int64) error {
	_, err := tx.NewRaw("DELETE FROM console_sessions WHERE user_id = ?", user).Exec(ctx)
	return err
}

// PruneConsoleSessions forgets sessions that are over.
func (db *DB) PruneConsoleSessions(ctx context.Context) error {
	_, err := db.bun.NewRaw("DELETE FROM console_sessions WHERE expires_at <= now() OR last_used <= now() - make_interval(secs => ?)",
		consoleIdle.Seconds()).Exec(ctx)
	return problem("forget console sessions", err)
}

// SignInsLimited leaves one audit entry of a row of wrong passwords.
func (db *DB) SignInsLimited(ctx context.Context, actor record.Actor, name string) error {
	return db.inTx(ctx, "note wrong passwords", func(ctx context.Context, tx bun.Tx) error {
		return audit(ctx, tx, actor, change{action: "sign_ins_limited", object: "name:" + name, reason: "too many wrong passwords in a row"})
	})
}
