package runner

import "fmt"

// limits of an attempt beside its time and its disk; 0: none.
type limits struct {
	memory    int64 // bytes, of all its processes
	processes int64
}

func (s *Spec) limits() limits { return limits{int64(s.MemoryLimit), s.ProcessLimit} }

// usage is what the processes of an attempt take.
type usage struct{ memory, processes int64 }

// over says which limit of a runner is passed; empty: none.
func (s *Spec) over(u usage) string {
	switch {
	case s.ProcessLimit > 0 && u.processes > s.ProcessLimit:
		return fmt.Sprintf("ran %d processes, more than process_limit = %d", u.processes, s.ProcessLimit)
	case s.MemoryLimit > 0 && u.memory > int64(s.MemoryLimit):
		return fmt.Sprintf("used more than memory_limit = %v", s.MemoryLimit)
	}
	return ""
}

// Means are the ways in which a machine keeps jobs apart and within their limits,
// as words for status and inventory.
const (
	meansUser      = "user"      // jobs run as another user than the agent
	meansCgroup    = "cgroup"    // each attempt has a control group: nothing of it survives
	meansMemory    = "memory"    // the kernel keeps the limit of the whole attempt
	meansProcesses = "processes" // the same
)

// Isolation lists what is in force here. What is not listed, the agent does by
// itself as well as it can: process groups, measuring, limits of single processes.
func (s *Set) Isolation() []string {
	list := []string{}
	if s.book.account != nil {
		list = append(list, meansUser)
	}
	if c := s.cgroups; c != nil {
		list = append(list, meansCgroup)
		if c.memory {
			list = append(list, meansMemory)
		}
		if c.processes {
			list = append(list, meansProcesses)
		}
	}
	return list
}
