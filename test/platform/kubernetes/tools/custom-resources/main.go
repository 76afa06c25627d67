// custom-resources FOLDER checks the custom resources on standard input against the CustomResourceDefinitions in the folder,
// with the API server's own validation; unknown fields are errors.
package main

import (
	"fmt"
	"log"
	"os"
	"path/filepath"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"countersign.example/tools/manifests"
)

func main() {
	schemas, err := readSchemas(os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	manifests.Judge(func(object unstructured.Unstructured) ([]string, error) {
		found, isKnown := schemas[object.GroupVersionKind()]
		if !isKnown {
			return nil, fmt.Errorf("there is no definition of %s", object.GroupVersionKind())
		}
		return check(object, found)
	})
}

func check(object unstructured.Unstructured, props *apiextensions.JSONSchemaProps) ([]string, error) {
	var problems []string
	validator, _, err := validation.NewSchemaValidator(props)
	if err != nil {
		return nil, err
	}
	for _, problem := range validation.ValidateCustomResource(nil, object.Object, validator) {
		problems = append(problems, problem.Error())
	}
	structural, err := structuralschema.NewStructural(props)
	if err != nil {
		return nil, err
	}
	options := structuralschema.UnknownFieldPathOptions{TrackUnknownFieldPaths: true}
	for _, path := range pruning.PruneWithOptions(object.DeepCopy().Object, structural, true, options) {
		problems = append(problems, "unknown field "+path)
	}
	return problems, nil
}

func readSchemas(folder string) (map[schema.GroupVersionKind]*apiextensions.JSONSchemaProps, error) {
	files, err := filepath.Glob(filepath.Join(folder, "*.yaml"))
	if err != nil {
		return nil, err
	}
	schemas := map[schema.GroupVersionKind]*apiextensions.JSONSchemaProps{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		var definition apiextensionsv1.CustomResourceDefinition
		if err := yaml.Unmarshal(text, &definition); err != nil {
			return nil, err
		}
		for _, version := range definition.Spec.Versions {
			props := &apiextensions.JSONSchemaProps{}
			from := version.Schema.OpenAPIV3Schema
			if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(from, props, nil); err != nil {
				return nil, err
			}
			kind := schema.GroupVersionKind{Group: definition.Spec.Group, Version: version.Name, Kind: definition.Spec.Names.Kind}
			schemas[kind] = props
		}
	}
	return schemas, nil
}
