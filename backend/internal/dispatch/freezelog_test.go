package dispatch

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"rockpool/backend/internal/core"
)

func TestFreezeLog_TellsBeginAndEndOnce(t *testing.T) {
	var out bytes.Buffer
	var f freezeLog
	for _, freeze := range []core.Freeze{
		{}, {Since: 5, Until: 9, Cause: core.FrozenByStandstill}, {Since: 5, Until: 9, Cause: core.FrozenByStandstill}, {}, {},
	} {
		f.note(freeze, NewClock(), slog.New(slog.NewTextHandler(&out, nil)))
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(lines) != 2 || !strings.Contains(lines[0], "fleet frozen: ") || !strings.Contains(lines[0], "cause=standstill") ||
		!strings.Contains(lines[1], "no more") || !strings.Contains(lines[1], "level=WARN") {
		t.Errorf("%s", out.String())
	}
}
