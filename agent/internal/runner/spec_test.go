package runner

import (
	"strings"
	"testing"
	"time"

	"rockpool/shared/settings"
	"rockpool/shared/wire"
)

func ptr[T any](v T) *T { return &v }

func TestBook_RefusesWithTheSetting(t *testing.T) {
	good := func() Spec { return Spec{Name: "tool", Argv: []string{"sh"}} }
	for name, tc := range map[string]struct {
		change func(*Spec)
		want   string
	}{
		"bad name":              {func(s *Spec) { s.Name = "Tool!" }, "name"},
		"name of a built-in":    {func(s *Spec) { s.Name = "checksum" }, "declared twice"},
		"no argv":               {func(s *Spec) { s.Argv = nil }, "argv: is empty"},
		"program missing":       {func(s *Spec) { s.Argv = []string{"no-such-tool"} }, "no-such-tool"},
		"relative program":      {func(s *Spec) { s.Argv = []string{"./sh"} }, "absolute path"},
		"program of the job":    {func(s *Spec) { s.Params = map[string]Param{"p": {Type: "string"}}; s.Argv = []string{"{{param.p}}"} }, "can't choose it"},
		"bin without bin":       {func(s *Spec) { s.Argv = []string{"{{bin}}"} }, "needs the setting bin"},
		"unknown hole":          {func(s *Spec) { s.Argv = []string{"sh", "{{in.clip}}"} }, "is not declared"},
		"unpack no input":       {func(s *Spec) { s.Unpack = []string{"clip"} }, "unpack:"},
		"unpack less than none": {func(s *Spec) { s.UnpackLimit = -1 }, "unpack_limit:"},
		"bin for nothing":       {func(s *Spec) { s.Bin = "sh" }, "bin: has no effect"},
		"time of no self-test":  {func(s *Spec) { s.SelfTestTime = settings.Duration(time.Second) }, "selftest_timeout: has no effect"},
		"limit of no archive":   {func(s *Spec) { s.UnpackLimit = 1 << 20 }, "unpack_limit: has no effect"},
		"param for nothing":     {func(s *Spec) { s.Params = map[string]Param{"p": {Type: "bool"}} }, "params.p: has no effect"},
		"param of a self-test": {func(s *Spec) {
			s.Params, s.Argv, s.SelfTest = map[string]Param{"p": {Type: "bool"}}, []string{"sh", "{{param.p}}"}, []string{"sh", "{{param.p}}"}
		}, "selftest[1]: {{param.p}} is a job's"},
		"input of a self-test":  {func(s *Spec) { s.Inputs, s.SelfTest = []string{"a"}, []string{"sh", "x={{in.a}}"} }, "selftest[1]: {{in.a}} is a job's"},
		"open hole":             {func(s *Spec) { s.Argv = []string{"sh", "{{in.clip"} }, "without }}"},
		"output with a path":    {func(s *Spec) { s.Outputs = []string{"../x"} }, "no plain file name"},
		"input twice":           {func(s *Spec) { s.Inputs = []string{"a", "a"} }, "stands there twice"},
		"result without format": {func(s *Spec) { s.Result.File = "x" }, "format"},
		"exit code of none":     {func(s *Spec) { s.Success.Exit = []int{0, 256} }, "success.exit"},
		"secret variable":       {func(s *Spec) { s.Env = []string{"ROCKPOOL_AGENT_LICENSE"} }, "env"},
		"negative timeout":      {func(s *Spec) { s.Timeout = -1 }, "timeout"},
		"memory of a byte":      {func(s *Spec) { s.MemoryLimit = 1 }, "memory_limit"},
		"no process at all":     {func(s *Spec) { s.ProcessLimit = -1 }, "process_limit"},
		"param type":            {func(s *Spec) { s.Params = map[string]Param{"p": {Type: "shell"}} }, "params.p: type"},
		"param range":           {func(s *Spec) { s.Params = map[string]Param{"p": {Type: "int", Min: ptr(2.0), Max: ptr(1.0)}} }, "params.p: min"},
		"param default":         {func(s *Spec) { s.Params = map[string]Param{"p": {Type: "int", Default: ptr("x")}} }, "params.p: default"},
		"param pattern":         {func(s *Spec) { s.Params = map[string]Param{"p": {Type: "string", Pattern: "("}} }, "params.p: pattern"},
		"enum without values":   {func(s *Spec) { s.Params = map[string]Param{"p": {Type: "enum"}} }, "params.p: values"},
		"selftest hangs": {func(s *Spec) {
			s.SelfTest, s.SelfTestTime = []string{"sh", "-c", "sleep 600"}, settings.Duration(100*time.Millisecond)
		}, `sh -c sleep 600: did not end within 100ms: make it shorter, or raise selftest_timeout`},
		"selftest in no time": {func(s *Spec) { s.SelfTestTime = -1 }, "selftest_timeout: must be"},
		"selftest is killed":  {func(s *Spec) { s.SelfTest = []string{"sh", "-c", "kill -9 $$"} }, "signal: killed"},
		"selftest fails":      {func(s *Spec) { s.SelfTest = []string{"sh", "-c", "echo no device >&2; exit 1"} }, "no device"},
	} {
		t.Run(name, func(t *testing.T) {
			s := good()
			tc.change(&s)
			book, err := NewBook([]Spec{s}, Builtins{Enabled: []string{"checksum"}}, "cpu", []string{"PATH=/usr/bin:/bin"})
			if err == nil {
				err = book.SelfTest(t.Context())
			}
			if err == nil || !strings.Contains(err.Error(), tc.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("error %v, want one line with %q", err, tc.want)
			}
		})
	}
	if _, err := NewBook(nil, Builtins{}, "cpu", nil); err == nil || !strings.Contains(err.Error(), "none is enabled") {
		t.Errorf("no runner: %v", err)
	}
	if _, err := NewBook(nil, Builtins{Enabled: []string{"shell"}}, "cpu", nil); err == nil || !strings.Contains(err.Error(), "shell") {
		t.Errorf("unknown built-in: %v", err)
	}
}

func TestBook_WarnsOfVariablesThatTheAgentDoesNotHave(t *testing.T) {
	specs := []Spec{{Name: "a", Argv: []string{"sh"}, Env: []string{"PATH", "EMPTY", "PAT"}}, {Name: "b", Argv: []string{"sh"}, Env: []string{"EMPTY"}}}
	book, err := NewBook(specs, Builtins{Enabled: []string{"checksum"}}, "cpu", []string{"PATH=/bin", "EMPTY="})
	if err != nil {
		t.Fatal(err)
	}
	if got := book.Warnings(); len(got) != 1 || !strings.Contains(got[0], `runner "a": env: has no effect: PAT is not set`) {
		t.Errorf("warned %q", got)
	}
}

func TestParams_OnlyWhatIsDeclaredAndWithinBounds(t *testing.T) {
	s := Spec{Name: "tool", Argv: []string{"sh", "{{param.crf}}{{param.speed}}{{param.preset}}{{param.audio}}{{param.title}}"}, Params: map[string]Param{
		"crf":    {Type: "int", Min: ptr(0.0), Max: ptr(51.0), Default: ptr("23")},
		"speed":  {Type: "number", Default: ptr("1.0"), Min: ptr(0.5)},
		"preset": {Type: "enum", Values: []string{"fast", "slow"}, Default: ptr("fast")},
		"audio":  {Type: "bool", Default: ptr("true")},
		"title":  {Type: "string", MaxLength: 8, Pattern: "[a-z ]*", Default: ptr("")},
	}}
	if err := s.prepare(); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name, value string
		ok          bool
	}{
		{"crf", "0", true}, {"crf", "51", true}, {"crf", "52", false}, {"crf", "-1", false}, {"crf", "1.5", false}, {"crf", "", false},
		{"crf", "1_0", false}, {"crf", "+1", false}, {"crf", "0x1", false}, {"crf", " 1", false},
		{"speed", "0.5", true}, {"speed", "1e3", true}, {"speed", "0.4", false}, {"speed", "NaN", false}, {"speed", "inf", false}, {"speed", "0x1p4", false},
		{"preset", "slow", true}, {"preset", "Slow", false}, {"audio", "false", true}, {"audio", "1", false},
		{"title", "a clip", true}, {"title", "too long title", false}, {"title", "-rm", false}, {"title", "A", false}, {"title", "a\n", false}, {"title", "\xff", false},
		{"other", "x", false},
	} {
		_, err := s.fillParams([]wire.Pair{{Name: tc.name, Value: tc.value}})
		if (err == nil) != tc.ok {
			t.Errorf("%s = %q: %v", tc.name, tc.value, err)
		}
	}
	if _, err := s.fillParams([]wire.Pair{{Name: "crf", Value: "1"}, {Name: "crf", Value: "2"}}); err == nil {
		t.Error("a parameter was taken twice")
	}
	s.Params["must"] = Param{Type: "string"}
	if _, err := s.fillParams(nil); err == nil || !strings.Contains(err.Error(), "must is missing") {
		t.Errorf("missing parameter: %v", err)
	}
}

func TestSize_ReadsUnits(t *testing.T) {
	for text, want := range map[string]Size{"512B": 512, "8MiB": 8 << 20, "1 GiB": 1 << 30, "0KiB": 0} {
		var s Size
		if err := s.UnmarshalText([]byte(text)); err != nil || s != want {
			t.Errorf("%q is %d, %v", text, s, err)
		}
	}
	for _, text := range []string{"8", "MiB", "-1KiB", "1.5GiB", "9999999999GiB", "8MB"} {
		var s Size
		if err := s.UnmarshalText([]byte(text)); err == nil {
			t.Errorf("%q was taken as %d", text, s)
		}
	}
	if s := Size(8<<20).String() + " " + Size(1000).String(); s != "8MiB 1000B" {
		t.Errorf("printed %s", s)
	}
}
