package wire

import (
	"cmp"
	"encoding/json"
	"io"
	"mime"
)

// maxProblem bounds what is read of an answer that refuses a request, in bytes.
const maxProblem = 64 << 10

// AnswerText is what a person reads of an HTTP answer that refuses something, in one
// clean line of at most limit bytes: the code and the detail of a problem document
// (RFC 9457), or a plain text. Of anything else, such as a proxy's page, it is empty.
func AnswerText(contentType string, body io.Reader, limit int) string {
	kind, _, _ := mime.ParseMediaType(contentType)
	content, _ := io.ReadAll(io.LimitReader(body, maxProblem)) // what came says enough
	switch kind {
	case "text/plain":
		return CleanText(string(content), limit)
	case "application/problem+json":
		var p struct{ Code, Title, Detail string }
		_ = json.Unmarshal(content, &p) // what can't be read says nothing
		text := cmp.Or(p.Detail, p.Title)
		if p.Code != "" && text != "" {
			text = p.Code + ": " + text
		}
		return CleanText(cmp.Or(text, p.Code), limit)
	}
	return ""
}
