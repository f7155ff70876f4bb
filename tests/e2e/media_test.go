package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"rockpool/backend/backendtest"
	"rockpool/tests/rig"
)

// Where the external tools are: Debian's ffmpeg, and one with libvmaf that
// scripts/test gets from npm.
const (
	runnerDir = "docs/examples/runners"
	netflix   = "tests/e2e/testdata/netflix"
	vmafTool  = "tests/e2e/tool/node_modules/@ffmpeg-installer/linux-x64/ffmpeg"
)

func tree(path ...string) string { return filepath.Join(append([]string{rig.Root()}, path...)...) }

// needTool skips where the tool is missing; in CI that is a failure.
func needTool(t *testing.T, program, install string) string {
	t.Helper()
	path, err := exec.LookPath(program)
	switch {
	case err == nil:
		return path
	case os.Getenv("CI") == "true":
		t.Fatalf("%s is missing in CI: %s", program, install)
	}
	t.Skipf("%s is missing: %s", program, install)
	return ""
}

func needFFmpeg(t *testing.T) string {
	t.Helper()
	return needTool(t, "ffmpeg", "apt-get install ffmpeg (scripts/test does it where it may)")
}

// needVMAF finds the ffmpeg with libvmaf. The agent calls it where a node's owner
// would have put it: outside of the tree.
func needVMAF(t *testing.T) string {
	t.Helper()
	return needTool(t, tree(vmafTool), "npm ci --ignore-scripts in tests/e2e/tool (scripts/test does it)")
}

// example reads a shipped runner; bin replaces its program unless empty.
func example(t *testing.T, name, bin string) string {
	t.Helper()
	content, err := os.ReadFile(tree(runnerDir, name+".toml"))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(content), "\n")
	for i, line := range lines {
		if bin != "" && strings.HasPrefix(line, "bin ") {
			lines[i] = fmt.Sprintf("bin = %q", bin)
		}
	}
	return strings.Join(lines, "\n")
}

// studio is an agent that offers shipped runners.
func (u *tenant) studio(runners ...string) *rig.Agent {
	u.t.Helper()
	return rig.NewAgent(u.t, u.s, rig.AgentOptions{
		Name: u.name + "-studio", License: u.license.LicenseCode, Slots: 2, More: "\n" + strings.Join(runners, "\n"),
	})
}

// within is the tenant in a part of its test.
func (u *tenant) within(t *testing.T) *tenant {
	part := *u
	part.t = t
	return &part
}

// upload gives a file's digest.
func (u *tenant) upload(path string) string {
	u.t.Helper()
	kept, err := u.client.UploadFile(u.t.Context(), path)
	if err != nil {
		u.t.Fatal(err)
	}
	return kept.Digest
}

// pair is the inputs of a score of the Netflix pair.
func (u *tenant) pair() map[string]string {
	u.t.Helper()
	return map[string]string{"distorted": u.upload(tree(netflix, "dis_160x90.yuv")), "reference": u.upload(tree(netflix, "ref_160x90.yuv"))}
}

// write makes an input of its own.
func (u *tenant) write(content []byte) string {
	u.t.Helper()
	path := filepath.Join(u.t.TempDir(), "input")
	if err := os.WriteFile(path, content, 0o600); err != nil {
		u.t.Fatal(err)
	}
	return u.upload(path)
}

// runs a job of a shipped runner to its end.
func (u *tenant) runs(runner string, inputs map[string]string, params map[string]backendtest.Scalar) backendtest.Job {
	u.t.Helper()
	job := u.submit(func(r *backendtest.JobRequest) { r.Runner, r.Inputs, r.Params = runner, inputs, params })
	done, err := u.client.WaitJob(u.t.Context(), job.ID, 2*time.Minute)
	if err != nil {
		u.t.Fatal(err)
	}
	return done
}

var smallClip = map[string]backendtest.Scalar{"size": "160x90"}

// scores fails unless the job succeeded with that score over all 48 frames.
func (u *tenant) scores(job backendtest.Job, name string, want, within float64) {
	u.t.Helper()
	var got map[string]float64
	if err := json.Unmarshal(job.Output, &got); err != nil && job.State == "succeeded" {
		u.t.Fatal(err)
	}
	if job.State != "succeeded" || math.Abs(got[name]-want) > within || got["frames"] != 48 {
		u.t.Errorf("%s with %s, want %s %v: %s", inWords(job), job.Output, name, want, u.log(job.ID))
	}
}

func (u *tenant) log(job string) string {
	log, err := u.client.JobLog(context.Background(), job)
	if err != nil {
		return err.Error()
	}
	return fmt.Sprintf("%+v", log)
}

// fails fails unless the job failed for the reason, and its detail says all of that.
func (u *tenant) fails(job backendtest.Job, reason string, says ...string) {
	u.t.Helper()
	u.mustBe(job, "failed", reason)
	for _, part := range says {
		if !strings.Contains(job.Detail, part) {
			u.t.Errorf("its detail %q does not say %q", job.Detail, part)
		}
	}
	if len(job.Outputs) != 0 {
		u.t.Errorf("it names outputs %v", job.Outputs)
	}
}

func TestMedia_SSIMAndPSNROfTheNetflixPair(t *testing.T) {
	t.Parallel()
	needFFmpeg(t)
	u := newTenant(t, server(t))
	u.studio(example(t, "ssim", ""), example(t, "psnr", ""))
	pair := u.pair()
	u.scores(u.runs("ssim", pair, smallClip), "ssim", 0.980220, 0.0000005)
	u.scores(u.runs("psnr", pair, smallClip), "psnr", 38.647793, 0.0000005)

	t.Run("equal clips have no finite PSNR", func(t *testing.T) {
		u := u.within(t)
		same := map[string]string{"distorted": pair["reference"], "reference": pair["reference"]}
		u.fails(u.runs("psnr", same, smallClip), "non_finite", "psnr is inf")
	})
	t.Run("a clip that was cut within a frame", func(t *testing.T) {
		u := u.within(t)
		content, err := os.ReadFile(tree(netflix, "dis_160x90.yuv"))
		if err != nil {
			t.Fatal(err)
		}
		cut := map[string]string{"distorted": u.write(content[:len(content)-1]), "reference": pair["reference"]}
		u.fails(u.runs("ssim", cut, smallClip), "exit_code", "corrupt input packet")
	})
	t.Run("an empty clip", func(t *testing.T) {
		u := u.within(t)
		empty := map[string]string{"distorted": u.write(nil), "reference": pair["reference"]}
		u.fails(u.runs("ssim", empty, smallClip), "exit_code", "Empty output")
	})
	t.Run("a clip that is missing", func(t *testing.T) {
		u := u.within(t)
		u.fails(u.runs("ssim", map[string]string{"reference": pair["reference"]}, smallClip), "bad_params", "distorted")
	})
	t.Run("a parameter stays a parameter", func(t *testing.T) {
		u := u.within(t)
		u.fails(u.runs("ssim", pair, map[string]backendtest.Scalar{"size": "160x90 -i /etc/passwd"}), "bad_params", "size")
	})
}

func TestMedia_VMAFOfTheNetflixPair(t *testing.T) {
	t.Parallel()
	tool := needVMAF(t)
	u := newTenant(t, server(t))
	u.studio(example(t, "vmaf", tool))
	inputs := u.pair()
	inputs["vmaf.pkl"] = u.upload(tree(netflix, "vmaf_v0.6.1.pkl"))
	inputs["vmaf.pkl.model"] = u.upload(tree(netflix, "vmaf_v0.6.1.pkl.model"))
	job := u.runs("vmaf", inputs, smallClip)
	u.scores(job, "vmaf", 92.5447, 0.001)
	var features struct {
		Frames []struct{ Metrics map[string]float64 }
	}
	if err := json.Unmarshal(u.fetch(job, "vmaf.json"), &features); err != nil || len(features.Frames) != 48 {
		t.Errorf("features of %d frames: %v", len(features.Frames), err)
	}

	t.Run("a model that is none", func(t *testing.T) {
		u := u.within(t)
		broken := maps.Clone(inputs)
		broken["vmaf.pkl"] = u.write([]byte("no model\n"))
		u.fails(u.runs("vmaf", broken, smallClip), "exit_code", "exit code 1", "vmaf.pkl cannot be read")
	})
	t.Run("a model whose other half is missing", func(t *testing.T) {
		u := u.within(t)
		half := maps.Clone(inputs)
		delete(half, "vmaf.pkl.model")
		u.fails(u.runs("vmaf", half, smallClip), "bad_params", "vmaf.pkl.model")
	})
}

// fetch downloads an output as the app's owner, with the command line.
func (u *tenant) fetch(job backendtest.Job, name string) []byte {
	u.t.Helper()
	digest, ok := job.Outputs[name]
	if !ok {
		u.t.Fatalf("no output %s in %v: %s", name, job.Outputs, u.log(job.ID))
	}
	path := filepath.Join(u.t.TempDir(), name)
	if ran := u.s.Run(u.t, u.token, "artifact", "get", digest, path); ran.Code != 0 {
		u.t.Fatalf("artifact get: exit code %d: %s", ran.Code, ran.Err)
	}
	content, err := os.ReadFile(path)
	if err != nil {
		u.t.Fatal(err)
	}
	return content
}

// clip makes the reference a Matroska file, without loss.
func clip(t *testing.T, ffmpeg string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "clip.mkv")
	run(t, ffmpeg, "-v", "error", "-f", "rawvideo", "-pix_fmt", "yuv420p", "-s", "160x90", "-r", "24",
		"-i", tree(netflix, "ref_160x90.yuv"), "-c:v", "ffv1", path)
	return path
}

func run(t *testing.T, program string, args ...string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), program, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s %v: %v\n%s", program, args, err, out)
	}
	return string(out)
}

// probe is what ffprobe says of an output: codec,width,height,frames.
func (u *tenant) probe(job backendtest.Job, name string) string {
	u.t.Helper()
	path := filepath.Join(u.t.TempDir(), name)
	if err := os.WriteFile(path, u.fetch(job, name), 0o600); err != nil {
		u.t.Fatal(err)
	}
	out := run(u.t, "ffprobe", "-v", "error", "-count_frames", "-select_streams", "v:0",
		"-show_entries", "stream=codec_name,width,height,nb_read_frames", "-of", "csv=p=0", path)
	return strings.TrimSpace(out)
}

func TestMedia_TranscodeAndThumbnailsLeaveOutputs(t *testing.T) {
	t.Parallel()
	ffmpeg := needFFmpeg(t)
	u := newTenant(t, server(t))
	u.studio(example(t, "transcode", ""), example(t, "thumbnails", ""))
	source := clip(t, ffmpeg)
	inputs := map[string]string{"clip": u.upload(source)}

	done := u.runs("transcode", inputs, map[string]backendtest.Scalar{"height": "72", "preset": "veryfast"})
	u.mustBe(done, "succeeded", "")
	if got := u.probe(done, "clip.mp4"); got != "h264,128,72,48" || string(done.Output) != `{"frames":48}` {
		t.Errorf("transcoded to %s with %s", got, done.Output)
	}

	done = u.runs("thumbnails", inputs, map[string]backendtest.Scalar{"every": "1", "width": "120"})
	u.mustBe(done, "succeeded", "")
	for _, name := range []string{"thumb-1.jpg", "thumb-2.jpg"} {
		if got := u.probe(done, name); got != "mjpeg,120,68,1" {
			t.Errorf("%s is %s", name, got)
		}
	}
	if len(done.Outputs) != 2 {
		t.Errorf("outputs %v of two seconds", done.Outputs)
	}

	t.Run("a stranger gets no output", func(t *testing.T) {
		stranger := newTenant(t, u.s)
		ran := u.s.Run(t, stranger.token, "artifact", "get", done.Outputs["thumb-1.jpg"], filepath.Join(t.TempDir(), "stolen"))
		if ran.Code == 0 {
			t.Error("a stranger got the output")
		}
	})
	t.Run("a clip that was cut off", func(t *testing.T) {
		u := u.within(t)
		content, err := os.ReadFile(source)
		if err != nil {
			t.Fatal(err)
		}
		u.fails(u.runs("transcode", map[string]string{"clip": u.write(content[:len(content)/3])}, nil), "output_missing", "File ended prematurely")
	})
	t.Run("no clip at all", func(t *testing.T) {
		u := u.within(t)
		u.fails(u.runs("thumbnails", map[string]string{"clip": u.write([]byte("text"))}, nil), "exit_code", "Invalid data found")
	})
	t.Run("a playlist reads no other file", func(t *testing.T) {
		u := u.within(t)
		list := "#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXTINF:1,\nfile://" + source + "\n#EXT-X-ENDLIST\n"
		u.fails(u.runs("transcode", map[string]string{"clip": u.write([]byte(list))}, nil), "exit_code", "not on whitelist")
	})
}
