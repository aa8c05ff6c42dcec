// Command oracle answers questions about Kubernetes quantities and strategic merge patches with
// the real Go packages. It reads one JSON request a line and writes one JSON answer a line.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
)

type request struct {
	Op    string          `json:"op"`
	A     string          `json:"a"`
	B     string          `json:"b"`
	Old   json.RawMessage `json:"old"`
	New   json.RawMessage `json:"new"`
	Patch json.RawMessage `json:"patch"`
}

type answer struct {
	Text  string          `json:"text,omitempty"`
	Cmp   int             `json:"cmp"`
	Value json.RawMessage `json:"value,omitempty"`
	Error string          `json:"error,omitempty"`
}

func answerTo(r request) (answer, error) {
	switch r.Op {
	case "parse":
		q, err := resource.ParseQuantity(r.A)
		if err != nil {
			return answer{}, err
		}
		return answer{Text: q.String()}, nil
	case "add", "sub", "cmp":
		a, err := resource.ParseQuantity(r.A)
		if err != nil {
			return answer{}, err
		}
		b, err := resource.ParseQuantity(r.B)
		if err != nil {
			return answer{}, err
		}
		switch r.Op {
		case "add":
			a.Add(b)
		case "sub":
			a.Sub(b)
		default:
			return answer{Cmp: a.Cmp(b)}, nil
		}
		return answer{Text: a.String()}, nil
	case "diff":
		patch, err := strategicpatch.CreateTwoWayMergePatch(r.Old, r.New, corev1.Node{})
		return answer{Value: patch}, err
	case "apply":
		merged, err := strategicpatch.StrategicMergePatch(r.Old, r.Patch, corev1.Node{})
		return answer{Value: merged}, err
	default:
		return answer{}, fmt.Errorf("unknown op %q", r.Op)
	}
}

func main() {
	in := bufio.NewReaderSize(os.Stdin, 1<<20)
	out := bufio.NewWriter(os.Stdout)
	decoder := json.NewDecoder(in)
	encoder := json.NewEncoder(out)
	for {
		var r request
		if err := decoder.Decode(&r); err != nil {
			return
		}
		a, err := answerTo(r)
		if err != nil {
			a = answer{Error: err.Error()}
		}
		if err := encoder.Encode(a); err != nil {
			os.Exit(1)
		}
		if err := out.Flush(); err != nil {
			os.Exit(1)
		}
	}
}
