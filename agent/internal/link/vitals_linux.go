package link

import (
	"bufio"
	"os"
	"strconv"
	"strings"
)

// vitals reads the load average times 1000 and the MiB of memory in use. What
// can't be read is 0.
func vitals() (loadMilli, memoryMiB int64) { return loadAverage(), memoryInUse() }

func loadAverage() int64 {
	content, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return 0
	}
	first, _, _ := strings.Cut(string(content), " ")
	load, err := strconv.ParseFloat(first, 64)
	if err != nil {
		return 0
	}
	return int64(load * 1000)
}

func memoryInUse() int64 {
	f, err := os.Open("/proc/meminfo")
	if err != nil {
		return 0
	}
	defer func() { _ = f.Close() }()
	var total, available int64 // KiB
	for lines := bufio.NewScanner(f); lines.Scan(); {
		fields := strings.Fields(lines.Text())
		if len(fields) < 2 {
			continue
		}
		switch fields[0] {
		case "MemTotal:":
			total, _ = strconv.ParseInt(fields[1], 10, 64)
		case "MemAvailable:":
			available, _ = strconv.ParseInt(fields[1], 10, 64)
		}
	}
	return max(0, total-available) / 1024
}
