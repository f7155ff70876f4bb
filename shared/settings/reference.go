package settings

import (
	"fmt"
	"strings"
)

// Markdown is the reference of all settings as a page for docs.
func Markdown(title, intro string, all []Setting) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n\n%s\n\n| setting | variable | default | |\n|---|---|---|---|\n", title, intro)
	for _, s := range all {
		env, value := "the file only", "(none)"
		if s.Env != "" {
			env = "`" + s.Env + "`"
		}
		if s.Default != "" {
			value = "`" + s.Default + "`"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", s.Name, env, value, s.Help)
	}
	return b.String()
}
