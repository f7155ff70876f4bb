package embedpg

import (
	"fmt"
	"os"
	"strings"
	"syscall"
)

// hba admits whoever reaches the socket, and the socket stands in a 0700
// directory: the file system is the door. Replication is for base backups.
const hba = `# Written by Rockpool at every start; changes are lost.
local all all trust
local replication ` + AdminRole + ` trust
`

// promises are the settings that Rockpool's word depends on. They go on the
// command line, which neither a file nor ALTER SYSTEM overrules.
func (s *Server) promises() []string {
	fsync := "on"
	if s.config.UnsafeTestSpeed {
		fsync = "off"
	}
	return []string{
		"-c", "listen_addresses=",
		"-c", "fsync=" + fsync,
		"-c", "full_page_writes=" + fsync,
		"-c", "synchronous_commit=on",
	}
}

// conf holds what an operator may tune with ALTER SYSTEM: figures for a small
// machine that PostgreSQL shares with the server.
const conf = `# Written by Rockpool at every start; changes are lost. Tune with ALTER SYSTEM.
hba_file = %s
unix_socket_directories = %s
unix_socket_permissions = 0700
port = ` + socketPort + `
cluster_name = 'rockpool'
max_connections = %d
superuser_reserved_connections = 3
shared_buffers = 128MB
effective_cache_size = 512MB
work_mem = 8MB
maintenance_work_mem = 64MB
random_page_cost = 1.1
# many short statements: compiling or spreading one costs more than it saves
jit = off
max_parallel_workers_per_gather = 0
max_worker_processes = 4
# fewer checkpoints mean fewer full pages in the log
wal_level = replica
max_wal_senders = 2
max_wal_size = 1GB
min_wal_size = 128MB
checkpoint_timeout = 15min
log_checkpoints = off
log_destination = 'stderr'
logging_collector = off
log_line_prefix = '%%m [%%p] '
# in English, because a failed start is recognized by PostgreSQL's words
lc_messages = 'C'
log_timezone = 'UTC'
timezone = 'UTC'
datestyle = 'iso, ymd'
`

// writeSettings writes both files anew: what moved with the data folder is right
// again at the next start.
func (s *Server) writeSettings() error {
	text := fmt.Sprintf(conf, quoteSetting(s.folder.hba), quoteSetting(s.folder.socket), s.config.MaxConnections)
	if err := writeFile(s.folder.conf, text); err != nil {
		return fmt.Errorf("write settings: %w", err)
	}
	if err := writeFile(s.folder.hba, hba); err != nil {
		return fmt.Errorf("write settings: %w", err)
	}
	return nil
}

func quoteSetting(v string) string { return "'" + strings.ReplaceAll(v, "'", "''") + "'" }

// writeFile replaces a file as a whole; PostgreSQL's user must be able to read it.
func writeFile(path, text string) error {
	file, err := os.OpenFile(path+".new", os.O_WRONLY|os.O_CREATE|os.O_TRUNC|syscall.O_NOFOLLOW, 0o644)
	if err != nil {
		return err
	}
	_, err = file.WriteString(text)
	if err == nil {
		err = file.Chmod(0o644)
	}
	if closeErr := file.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return err
	}
	return os.Rename(file.Name(), path)
}
