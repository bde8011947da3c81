// Package procs starts the programs of a benchmark and reads from /proc what they use.
package procs

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Program is what to run: the arguments and what its environment has beyond PATH and HOME. Nothing else of the
// caller's environment is passed on, so that a run does not depend on it.
type Program struct {
	Path string
	Args []string
	Env  []string
	// Errors gets a copy of what it prints on standard error; nil for nobody.
	Errors io.Writer
}

// Process is a started program.
type Process struct {
	// URL is what followed "ready" on its output.
	URL string
	// Started is when it was executed, Ready when it said so.
	Started, Ready time.Time

	cmd  *exec.Cmd
	done chan struct{}
	tail tail
}

const (
	startTimeout = 60 * time.Second
	stopTimeout  = 30 * time.Second
)

// Start runs a program and waits for its line "ready URL".
func Start(ctx context.Context, program Program) (*Process, error) {
	cmd := exec.Command(program.Path, program.Args...) //nolint:noctx // it is stopped by Stop, not by the end of a context
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME")}, program.Env...)
	cmd.SysProcAttr = dieWithParent()
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", program.Path, err)
	}
	p := &Process{cmd: cmd, done: make(chan struct{})}
	cmd.Stderr = &p.tail
	if program.Errors != nil {
		cmd.Stderr = io.MultiWriter(&p.tail, program.Errors)
	}
	p.Started = time.Now()
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", program.Path, err)
	}

	ready := make(chan string, 1)
	go func() {
		lines := bufio.NewReader(stdout)
		for {
			line, err := lines.ReadString('\n')
			if url, found := strings.CutPrefix(line, "ready "); found {
				p.Ready = time.Now()
				ready <- strings.TrimSpace(url)
				break
			}
			_, _ = p.tail.Write([]byte(line))
			if err != nil {
				break
			}
		}
		_, _ = io.Copy(&p.tail, lines)
		_ = cmd.Wait()
		close(p.done)
	}()
	select {
	case p.URL = <-ready:
		return p, nil
	case <-p.done:
		return nil, fmt.Errorf("%s ended before it was ready: %v\n%s", program.Path, cmd.ProcessState, p.tail.String())
	case <-ctx.Done():
		err = ctx.Err()
	case <-time.After(startTimeout):
		err = errors.New("time is over")
	}
	_ = cmd.Process.Kill()
	<-p.done
	return nil, fmt.Errorf("%s did not say that it is ready: %w\n%s", program.Path, err, p.tail.String())
}

// PID returns the process id.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Output returns the end of what it printed, for error messages.
func (p *Process) Output() string { return p.tail.String() }

// Done is closed when it has ended.
func (p *Process) Done() <-chan struct{} { return p.done }

// Signal sends it a signal. It is an error when it has ended.
func (p *Process) Signal(signal syscall.Signal) error {
	if err := p.cmd.Process.Signal(signal); err != nil {
		return fmt.Errorf("signal %s: %w", p.cmd.Path, err)
	}
	return nil
}

// Kill ends it as kill -9 does and waits until it is gone.
func (p *Process) Kill() {
	_ = p.cmd.Process.Kill() // it may have ended
	<-p.done
}

// Stop ends it with SIGTERM. It is an error when it has ended before, does not end, or ends with another code than 0.
func (p *Process) Stop() error {
	select {
	case <-p.done:
		return fmt.Errorf("%s had ended: %v\n%s", p.cmd.Path, p.cmd.ProcessState, p.tail.String())
	default:
	}
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return fmt.Errorf("stop %s: %w", p.cmd.Path, err)
	}
	select {
	case <-p.done:
	case <-time.After(stopTimeout):
		_ = p.cmd.Process.Kill()
		<-p.done
		return fmt.Errorf("%s did not stop within %s\n%s", p.cmd.Path, stopTimeout, p.tail.String())
	}
	if code := p.cmd.ProcessState.ExitCode(); code != 0 {
		return fmt.Errorf("%s ended with code %d\n%s", p.cmd.Path, code, p.tail.String())
	}
	return nil
}

// tail keeps the end of what is written to it.
type tail struct {
	mu   sync.Mutex
	text []byte
}

const tailBytes = 8 << 10

func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, b...)
	if over := len(t.text) - tailBytes; over > 0 {
		t.text = append(t.text[:0], t.text[over:]...)
	}
	return len(b), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.text)
}
