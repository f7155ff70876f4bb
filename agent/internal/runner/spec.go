package runner

import (
	"fmt"
	"maps"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"rockpool/shared/ids"
	"rockpool/shared/settings"
	"rockpool/shared/wire"
)

// Spec is a runner as the configuration file declares it.
type Spec struct {
	Name         string            `toml:"name" help:"what jobs call it"`
	Bin          string            `toml:"bin" help:"program for {{bin}}; a bare name is searched on PATH"`
	Argv         []string          `toml:"argv" help:"program and arguments, with {{in.NAME}}, {{param.NAME}}, {{out.FILE}}, {{backend}} and {{bin}}"`
	NeedsBackend bool              `toml:"needs_backend" help:"the program uses the node's backend: argv must pass {{backend}} on"`
	SelfTest     []string          `toml:"selftest" help:"command that must succeed at the agent's start"`
	SelfTestTime settings.Duration `toml:"selftest_timeout" zero:"refused" help:"longest self-test"`
	Inputs       []string          `toml:"inputs" help:"names of the files that a job brings"`
	Unpack       []string          `toml:"unpack" help:"inputs that are a tar, tar.gz or zip: {{in.NAME}} is the folder of what is in it"`
	UnpackLimit  Size              `toml:"unpack_limit" zero:"refused" help:"bytes that an input may unpack to"`
	Params       map[string]Param  `toml:"params" help:"parameters by name"`
	Outputs      []string          `toml:"outputs" help:"files that the job may leave in its folder"`
	Result       Result            `toml:"result" help:"what becomes the job's output: a JSON file, or numbers out of the log"`
	Success      Success           `toml:"success" help:"what counts as success"`
	Timeout      settings.Duration `toml:"timeout" zero:"refused" help:"longest run"`
	Env          []string          `toml:"env" help:"variables of the agent's environment that the job may see"`
	LogLimit     Size              `toml:"log_limit" zero:"refused" help:"bytes of stdout and stderr kept on the disk while the job runs"`
	DiskLimit    Size              `toml:"disk_limit" zero:"refused" help:"bytes that the job may write into its folder"`
	MemoryLimit  Size              `toml:"memory_limit" zero:"refused" help:"memory that the job's processes may have together; none: no limit"`
	ProcessLimit int64             `toml:"process_limit" zero:"refused" help:"processes that the job may have at one time; with control groups each thread counts"`

	argv, selftest []template
}

// Result says what becomes the job's output: the content of a file, or a document
// of the numbers that a pattern finds in the log. Both empty: there is none.
type Result struct {
	File   string `toml:"file"`
	Format string `toml:"format"` // json
	// Pattern is a regular expression whose named groups are numbers; it is looked
	// for in the last 32 KiB of stdout and stderr, and its last match counts.
	Pattern string `toml:"pattern"`

	pattern *regexp.Regexp
}

// Success is the rule: one of the exit codes, all of the files, and a log that
// holds nothing of what tools say that end well over a broken input.
type Success struct {
	Exit    []int    `toml:"exit" zero:"refused"`
	Outputs []string `toml:"outputs"`
	Without string   `toml:"without"` // regular expression that no line of stdout and stderr may match

	without *regexp.Regexp
}

// Defaults of a runner.
const (
	defaultTimeout   = settings.Duration(time.Hour)
	defaultSelfTest  = settings.Duration(10 * time.Second)
	defaultLogLimit  = Size(8 << 20)
	defaultDiskLimit = Size(1 << 30)
	defaultUnpack    = Size(4 << 30)

	defaultProcessLimit = 1000
	minMemoryLimit      = Size(1 << 20) // what a small program needs to begin
)

// prepare checks the declaration, fills in defaults and finds the program. The
// error says what is wrong with which of the runner's settings.
func (s *Spec) prepare() error {
	if err := ids.CheckName(s.Name); err != nil {
		return fmt.Errorf("name: %w", err)
	}
	s.Params = maps.Clone(s.Params) // checking completes them; the configuration stays as it was read
	for _, check := range []func() error{s.checkFiles, s.checkUnpack, s.checkSuccess, s.checkResult, s.checkParams, s.checkEnv, s.checkLimits, s.findProgram, s.checkBackend, s.checkEffect} {
		if err := check(); err != nil {
			return err
		}
	}
	s.fillDefaults()
	return nil
}

func (s *Spec) fillDefaults() {
	if s.Timeout == 0 {
		s.Timeout = defaultTimeout
	}
	if s.SelfTestTime == 0 {
		s.SelfTestTime = defaultSelfTest
	}
	if s.LogLimit == 0 {
		s.LogLimit = defaultLogLimit
	}
	if s.DiskLimit == 0 {
		s.DiskLimit = defaultDiskLimit
	}
	if s.UnpackLimit == 0 {
		s.UnpackLimit = defaultUnpack
	}
	if s.ProcessLimit == 0 {
		s.ProcessLimit = defaultProcessLimit
	}
	if len(s.Success.Exit) == 0 {
		s.Success.Exit = []int{0}
	}
}

func (s *Spec) checkFiles() error {
	lists := map[string][]string{"inputs": s.Inputs, "outputs": s.Outputs, "success.outputs": s.Success.Outputs}
	if s.Result.File != "" {
		lists["result.file"] = []string{s.Result.File}
	}
	for _, setting := range []string{"inputs", "outputs", "success.outputs", "result.file"} {
		list := lists[setting]
		for i, name := range list {
			if !plainFile(name) {
				return fmt.Errorf("%s: %q is no plain file name: use letters, digits, _ . -", setting, name)
			}
			if slices.Contains(list[:i], name) {
				return fmt.Errorf("%s: %q stands there twice", setting, name)
			}
		}
	}
	if n := len(s.files()); n > wire.MaxFiles {
		return fmt.Errorf("outputs: %d files, at most %d are reported", n, wire.MaxFiles)
	}
	return nil
}

func (s *Spec) checkUnpack() error {
	if s.UnpackLimit < 0 {
		return fmt.Errorf("unpack_limit: must be a size such as 4GiB")
	}
	for i, name := range s.Unpack {
		if !slices.Contains(s.Inputs, name) || slices.Contains(s.Unpack[:i], name) {
			return fmt.Errorf("unpack: %q is none of the inputs, or stands there twice", name)
		}
	}
	return nil
}

func (s *Spec) checkSuccess() (err error) {
	for _, code := range s.Success.Exit {
		if code < 0 || code > 255 {
			return fmt.Errorf("success.exit: no program ends with %d: use 0 to 255", code)
		}
	}
	if s.Success.Without == "" {
		return nil
	}
	if s.Success.without, err = regexp.Compile(s.Success.Without); err != nil {
		return fmt.Errorf("success.without: %w", err)
	}
	return nil
}

func (s *Spec) checkResult() error {
	r := &s.Result
	switch {
	case r.File == "" && r.Format != "" || r.File != "" && r.Format != "json":
		return fmt.Errorf(`result: write { file = "NAME", format = "json" }, not file %q with format %q`, r.File, r.Format)
	case r.File != "" && r.Pattern != "":
		return fmt.Errorf("result: give a file or a pattern, not both")
	case r.Pattern == "":
		return nil
	}
	var err error
	if r.pattern, err = regexp.Compile(r.Pattern); err != nil {
		return fmt.Errorf("result.pattern: %w", err)
	}
	for i, name := range r.pattern.SubexpNames() {
		if i > 0 && name != "" {
			return nil
		}
	}
	return fmt.Errorf("result.pattern: name the groups that are numbers, as in ssim=(?P<ssim>\\S+)")
}

// plainFile says whether a name can stand in the job's folder and on the wire.
func plainFile(name string) bool {
	for _, c := range []byte(name) {
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '_' && c != '.' && c != '-' {
			return false
		}
	}
	return name != "" && name != "." && name != ".." && len(name) <= wire.MaxText
}

// files are all that the job may leave, each once.
func (s *Spec) files() []string {
	all := append(slices.Clone(s.Outputs), s.Success.Outputs...)
	if s.Result.File != "" {
		all = append(all, s.Result.File)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// required are the files without which the job has failed.
func (s *Spec) required(name string) bool {
	return name == s.Result.File || slices.Contains(s.Success.Outputs, name)
}

func (s *Spec) checkEnv() error {
	for _, name := range s.Env {
		if name == "" || strings.ContainsAny(name, "=\x00") || strings.HasPrefix(name, "ROCKPOOL_") {
			return fmt.Errorf("env: %q can't be passed to a job", name)
		}
	}
	return nil
}

func (s *Spec) checkLimits() error {
	switch {
	case s.Timeout < 0:
		return fmt.Errorf("timeout: must be more than 0, such as 10m")
	case s.SelfTestTime < 0:
		return fmt.Errorf("selftest_timeout: must be more than 0, such as 10s")
	case s.LogLimit < 0 || s.DiskLimit < 0:
		return fmt.Errorf("log_limit and disk_limit: must be sizes such as 8MiB")
	case s.MemoryLimit != 0 && s.MemoryLimit < minMemoryLimit:
		return fmt.Errorf("memory_limit: must be a size such as 512MiB, %v at least", minMemoryLimit)
	case s.ProcessLimit < 0:
		return fmt.Errorf("process_limit: must be 1 or more")
	}
	return nil
}

// findProgram parses the templates and resolves the program to its path, so that
// a missing one is noticed at the start and not by the first job.
func (s *Spec) findProgram() (err error) {
	if len(s.Argv) == 0 {
		return fmt.Errorf("argv: is empty: name the program and its arguments")
	}
	if s.argv, err = s.parseAll("argv", s.Argv); err != nil {
		return err
	}
	if s.selftest, err = s.parseAll("selftest", s.SelfTest); err != nil {
		return err
	}
	if s.Bin != "" {
		if s.Bin, err = lookProgram(s.Bin); err != nil {
			return fmt.Errorf("bin: %w", err)
		}
	}
	for setting, argv := range map[string][]template{"argv": s.argv, "selftest": s.selftest} {
		if err := s.fixProgram(argv); err != nil {
			return fmt.Errorf("%s: %w", setting, err)
		}
	}
	return nil
}

// fixProgram replaces the first word of a command by the program's path.
func (s *Spec) fixProgram(argv []template) error {
	if len(argv) == 0 || argv[0].is(holeBin) {
		return nil
	}
	word, ok := argv[0].literal()
	if !ok {
		return fmt.Errorf("the program must be a fixed word or {{bin}}: a job can't choose it")
	}
	path, err := lookProgram(word)
	if err != nil {
		return err
	}
	argv[0] = template{{text: path}}
	return nil
}

func lookProgram(name string) (string, error) {
	if strings.ContainsRune(name, filepath.Separator) && !filepath.IsAbs(name) {
		return "", fmt.Errorf("%q: write an absolute path, or a bare name to search on PATH", name)
	}
	path, err := exec.LookPath(name)
	if err != nil {
		return "", fmt.Errorf("program %q is not there or not executable: install it, or correct the path", name)
	}
	return path, nil
}
