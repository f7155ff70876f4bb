package api

import (
	"encoding/hex"
	"net/http"
	"strconv"

	"rockpool/backend/internal/record"
	"rockpool/backend/internal/rest"
)

func (a *API) listAudit(c *call) error {
	page, err := c.page(afterNumber)
	if err != nil {
		return err
	}
	filter := record.AuditFilter{
		Action: c.QueryParam("action"), Object: c.QueryParam("object"), Actor: c.QueryParam("actor"), Reason: c.QueryParam("reason"), Text: c.QueryParam("text"),
	}
	rows, err := a.store.Audit(c.ctx(), filter, page)
	if err != nil {
		return err
	}
	key := func(e *record.AuditEntry) string { return strconv.FormatInt(e.Seq, 10) }
	return c.JSON(http.StatusOK, listOf(rows, page, key, auditDoc))
}

func (a *API) verifyAudit(c *call) error {
	head, bad, err := a.store.VerifyAudit(c.ctx())
	if err != nil {
		return err
	}
	doc := rest.AuditVerified{OK: bad == 0, Seq: head.Seq, Sum: hex.EncodeToString(head.Sum[:])}
	if bad != 0 {
		doc.BadSeq = &bad
	}
	return c.JSON(http.StatusOK, doc)
}

func auditDoc(e *record.AuditEntry) rest.AuditEntry {
	return rest.AuditEntry{
		Seq: e.Seq, At: rest.At(e.At), Actor: e.Actor.Subject, ActorName: e.Name, Address: e.Actor.Address, RequestID: e.Actor.RequestID,
		Action: e.Action, Object: e.Object, Before: e.Before, After: e.After, Reason: e.Reason, Sum: hex.EncodeToString(e.Sum[:]),
	}
}
