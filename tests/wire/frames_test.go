package wiretest

import (
	"strings"

	"rockpool/shared/wire"
)

const (
	job1 = "0199c0de-0000-7000-8000-000000000001"
	job2 = "0199c0de-0000-7000-8000-000000000002"
)

var digest = "sha256:" + strings.Repeat("0123456789abcdef", 4)

// golden is a frame and the messages in it.
type golden struct {
	name     string
	messages []wire.Outgoing
}

func one(name string, body wire.Body) golden {
	return golden{name, []wire.Outgoing{wire.Msg(body)}}
}

// goldens has every message with every field set, and the least of those whose
// fields may be missing.
func goldens() []golden {
	return append(append(append(agentGoldens(), serverGoldens()...), consoleGoldens()...), golden{"frame_of_three", []wire.Outgoing{
		{ID: "42", Body: wire.Heartbeat{Accepting: true, Health: wire.Health{OK: true}}},
		{Body: wire.Accept{Job: job1, Attempt: 1}},
		{ReplyTo: "7", Body: wire.Error{Code: wire.CodeUnknownType, Detail: "no message named future"}},
	}})
}

func agentGoldens() []golden {
	return []golden{
		one("hello", wire.Hello{
			NodeID: "edge-1", ProtoMin: 1, ProtoMax: 1, AgentVersion: "1.2.3", OS: "linux", Arch: "amd64",
			MachineID: strings.Repeat("ab", 32), BootID: "b0070001", LastEpoch: 41, Role: "edge", Region: "eu-west",
			Endpoints: []wire.Pair{{Name: "webrtc", Value: "https://edge-1.example/whep"}}, Backend: "cpu",
			Capacity: wire.Capacity{
				Slots:     4,
				Resources: []wire.Amount{{Name: "nvenc", Amount: 2}},
				Memory:    []wire.Amount{{Name: "ram", Amount: 16384}},
			},
			Runners: []string{"checksum", "vmaf"}, Labels: []wire.Pair{{Name: "rack", Value: "日本 7"}},
			Running: []wire.RunningWork{{Job: job1, Attempt: 2, Phase: wire.PhaseRunning, Percent: 40}}, Spooled: 1,
		}),
		one("hello_least", wire.Hello{
			ProtoMin: 1, ProtoMax: 1, AgentVersion: "1.2.3", OS: "linux", Arch: "arm64", BootID: "b0070001",
			Role: "origin", Backend: "cpu", Capacity: wire.Capacity{Slots: 1}, Runners: []string{},
		}),
		one("hello_chain", wire.Hello{
			ProtoMin: 1, ProtoMax: 1, AgentVersion: "1.2.3", OS: "linux", Arch: "arm64", BootID: "b0070002", LastEpoch: 41,
			Chain: strings.Repeat("c4a1", 16), Role: "origin", Backend: "cpu", Capacity: wire.Capacity{Slots: 1}, Runners: []string{},
		}),
		one("heartbeat", wire.Heartbeat{
			Reason:  "spool is full",
			Running: []wire.RunningWork{{Job: job1, Attempt: 1, Phase: wire.PhaseStopping, Percent: 99}}, Spooled: 300,
			Health: wire.Health{Reasons: []string{"disk full"}}, LoadMilli: 70000, MemoryMiB: 1 << 40, RoundTrip: 14,
		}),
		one("heartbeat_unsaved", wire.Heartbeat{Reason: "state_failing", Health: wire.Health{OK: true}, Unsaved: true}),
		one("heartbeat_clock", wire.Heartbeat{Accepting: true, Health: wire.Health{OK: true}, RoundTrip: 14, At: 1_790_000_000_123}),
		one("heartbeat_least", wire.Heartbeat{Accepting: true, Health: wire.Health{OK: true}}),
		one("accept", wire.Accept{Job: job1, Attempt: 1}),
		one("decline", wire.Decline{Job: job1, Attempt: 200, Reason: "no free slot"}),
		one("progress", wire.Progress{Job: job1, Attempt: 1, Percent: 100, Note: "frame 2400 of 2400"}),
		one("result", wire.Result{
			Job: job1, Attempt: 1, Status: wire.ResultFailed, Reason: "exit_code", Detail: "ffmpeg ended with 187",
			ExitCode: new(int64(-9)), Output: []byte(`{"vmaf":92.544713}`), Head: []byte("\x00\xff raw"), Tail: []byte("end\n"),
			LogBytes: wire.MaxInteger, Outputs: []wire.Output{{Name: "out.mp4", Digest: digest, Size: 1 << 33}},
			FetchMs: 12, RunMs: 3456,
		}),
		one("result_least", wire.Result{Job: job1, Attempt: 1, Status: wire.ResultSucceeded, ExitCode: new(int64(0))}),
		one("result_no_program", wire.Result{Job: job1, Attempt: 1, Status: wire.ResultFailed, Reason: "start_failed"}),
		one("log", wire.Log{Job: job1, Attempt: 1, Stream: wire.LogOutput, Offset: 70_000, Bytes: []byte("\x1b[1mframe 7\xff\n")}),
		one("log_end", wire.Log{Job: job1, Attempt: 1, Stream: wire.LogOutput, Offset: 70_012, End: true}),
		one("inventory", wire.Inventory{
			Rev: 7, Platform: "Debian GNU/Linux 12, Linux 6.1.0", Archs: []string{"amd64", "amd64-v3"},
			Accelerators: []wire.Accelerator{{Name: "nvidia0", Kind: "gpu", Model: "NVIDIA L4"}},
			Memory:       []wire.MemoryDomain{{Name: "ram", Kind: "ram", Total: 16384}, {Name: "nvidia0", Kind: "vram", Total: 23034}},
			Links:        []wire.NodeLink{{Peer: "edge-2", Kind: "lan", Bandwidth: 10_000}},
			ArtifactDisk: wire.DiskSpace{Total: 476_940, Free: 201_344},
			Cached:       []wire.CachedArtifact{{Digest: digest, Size: 1 << 33}},
			Commands:     []string{"ffmpeg", "vmaf"}, Isolation: []string{"user", "memory"}, Stale: true,
		}),
		one("inventory_least", wire.Inventory{Rev: 1, Platform: "Windows", Archs: []string{"amd64"}}),
		one("rotated", wire.Rotated{ID: "rot-0199c0de"}),
		one("goodbye", wire.Goodbye{Kind: wire.GoodbyeLeft}),
		one("error", wire.Error{Code: wire.CodeBadMessage, Detail: "result: status", Fatal: true, RetryAfterMs: 1000}),
	}
}

func serverGoldens() []golden {
	holds := []wire.Hold{{Kind: "drain", Owner: "operator", Reason: "new disk"}}
	return []golden{
		one("welcome", wire.Welcome{
			Proto: 1, NodeID: "edge-1", Epoch: 42, Limits: wire.DefaultLimits(),
			Times: wire.Times{Heartbeat: 10000, Suspect: 25000, Lost: 90000, RedialWindow: 5000},
			Pool:  "pool-7", Holds: holds, Void: []wire.AttemptRef{{Job: job2, Attempt: 1}},
		}),
		one("welcome_chain", wire.Welcome{
			Proto: 1, NodeID: "edge-1", Epoch: 43, Chain: strings.Repeat("c4a2", 16), Limits: wire.DefaultLimits(),
			Times: wire.Times{Heartbeat: 10000, Suspect: 25000, Lost: 90000, RedialWindow: 5000}, Pool: "pool-7",
		}),
		one("rotate", wire.Rotate{ID: "rot-0199c0de"}),
		one("refused", wire.Refused{Code: wire.CodeNodeIDTaken, Detail: "edge-1 has an owner", RetryAfterMs: 60000, Fatal: true}),
		one("heartbeat_ack", wire.HeartbeatAck{
			OK: true, LeaseMs: 90000, Holds: holds,
			Cancel:    []wire.CancelRef{{Job: job1, Attempt: 1, GraceMs: 5000}},
			Void:      []wire.AttemptRef{{Job: job2, Attempt: 3}},
			Reconnect: &wire.Reconnect{DelayMs: 1250},
		}),
		one("heartbeat_ack_least", wire.HeartbeatAck{}),
		one("offer", wire.Offer{
			Job: job1, Attempt: 1, App: "cam", Runner: "vmaf", Backend: "cpu",
			Payload: wire.Payload{
				Params: []wire.Pair{{Name: "model", Value: "vmaf_v0.6.1"}},
				Inputs: []wire.Input{{Name: "reference.mp4", Digest: digest, Size: 1234567}},
			},
			Demands: wire.Capacity{Slots: 1, Resources: []wire.Amount{{Name: "nvenc", Amount: 1}}, Memory: []wire.Amount{{Name: "ram", Amount: 512}}},
			Limits:  wire.RunLimits{RunMs: 600000}, DeadlineMs: 5000,
		}),
		one("start", wire.Start{Job: job1, Attempt: 1}),
		one("void", wire.Void{Job: job1, Attempt: 1}),
		one("result_ack", wire.ResultAck{Job: job1, Attempt: 1, Verdict: wire.VerdictStored}),
		one("log_request", wire.LogRequest{Job: job1, Attempt: 1, Stream: wire.LogOutput, Offset: 70_000, Max: 8192}),
		one("cancel", wire.Cancel{Job: job1, Attempt: 1, GraceMs: 10000}),
	}
}
