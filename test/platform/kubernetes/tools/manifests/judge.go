// Package manifests checks the objects of a stream of YAML documents, parsed as kubectl does.
package manifests

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"log"
	"os"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
	strict "sigs.k8s.io/yaml"
)

// Judge prints a line for each object on standard input, and one for each problem. It ends with exit code 1 if there is a problem.
func Judge(problemsOf func(unstructured.Unstructured) ([]string, error)) {
	log.SetFlags(0)
	objects, err := read(os.Stdin)
	if err != nil {
		log.Fatal(err)
	}
	exitCode := 0
	for _, object := range objects {
		name := fmt.Sprintf("%s/%s", object.GetKind(), object.GetName())
		problems, err := problemsOf(object)
		if err != nil {
			log.Fatalf("%s: %v", name, err)
		}
		for _, problem := range problems {
			fmt.Printf("%s is refused: %s\n", name, problem)
			exitCode = 1
		}
		if len(problems) == 0 {
			fmt.Printf("%s is allowed\n", name)
		}
	}
	os.Exit(exitCode)
}

// read returns every object of the stream; empty documents are ignored.
func read(stream io.Reader) ([]unstructured.Unstructured, error) {
	var objects []unstructured.Unstructured
	documents := yaml.NewYAMLReader(bufio.NewReader(stream))
	for {
		text, err := documents.Read()
		if errors.Is(err, io.EOF) {
			return objects, nil
		}
		if err != nil {
			return nil, err
		}
		json, err := strict.YAMLToJSONStrict(text)
		if err != nil {
			return nil, err
		}
		if string(json) == "null" {
			continue
		}
		var object unstructured.Unstructured
		if err := object.UnmarshalJSON(json); err != nil {
			return nil, err
		}
		objects = append(objects, object)
	}
}
