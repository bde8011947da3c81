// Testsum reads the output of `go test -json` and prints what `go test` would have printed, then one line that
// counts: "812 passed, 0 failed, 0 skipped". It exits with 1 when anything failed, or when nothing ran.
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
)

// event is a line of `go test -json`; see `go doc test2json`.
type event struct {
	Action      string
	Package     string
	ImportPath  string
	Test        string
	Output      string
	FailedBuild string
}

func main() {
	var passed, failed, skipped int
	broken := false
	output := map[[2]string]*bytes.Buffer{} // by package and test, until the test has ended
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()

	lines := bufio.NewReaderSize(os.Stdin, 1<<20)
	for {
		line, err := lines.ReadBytes('\n')
		if len(line) > 0 {
			var e event
			if json.Unmarshal(line, &e) != nil {
				out.Write(line) // go itself has something to say
				continue
			}
			key := [2]string{e.Package, e.Test}
			switch {
			case e.Action == "output" && e.Test == "" && e.Output == "PASS\n": // as go test does with several packages
			case e.Action == "build-output" || e.Action == "output" && e.Test == "":
				out.WriteString(e.Output)
				out.Flush()
			case e.Action == "output":
				if output[key] == nil {
					output[key] = new(bytes.Buffer)
				}
				output[key].WriteString(e.Output)
			case e.Action == "build-fail", e.Action == "fail" && e.Test == "":
				broken = true
			case e.Test == "":
			case e.Action == "pass":
				passed++
				delete(output, key)
			case e.Action == "skip":
				skipped++
				flush(out, output, key)
			case e.Action == "fail":
				failed++
				flush(out, output, key)
			}
		}
		if err != nil {
			break
		}
	}
	for key := range output { // tests that never ended: a panic, or a timeout
		flush(out, output, key)
	}
	fmt.Fprintf(out, "%d passed, %d failed, %d skipped\n", passed, failed, skipped)
	if failed > 0 || broken || passed == 0 {
		out.Flush()
		os.Exit(1)
	}
}

// flush prints what a test said.
func flush(out *bufio.Writer, output map[[2]string]*bytes.Buffer, key [2]string) {
	if b := output[key]; b != nil {
		out.Write(b.Bytes())
		delete(output, key)
	}
	out.Flush()
}
