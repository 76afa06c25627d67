// Package manifests reads a stream of YAML documents as kubectl would.
package manifests

import (
	"bufio"
	"errors"
	"fmt"
	"io"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
	strict "sigs.k8s.io/yaml"
)

// Read returns every object of the stream; empty documents are none.
func Read(stream io.Reader) ([]unstructured.Unstructured, error) {
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

// Name says which object it is, for people.
func Name(object unstructured.Unstructured) string {
	return fmt.Sprintf("%s/%s", object.GetKind(), object.GetName())
}
