// pod-security judges every pod and pod template on standard input as the cluster's own admission does in a namespace with
// pod-security.kubernetes.io/enforce=restricted, latest version.
package main

import (
	"log"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"

	"countersign.example/tools/manifests"
)

var restricted = api.LevelVersion{Level: api.LevelRestricted, Version: api.LatestVersion()}

func main() {
	evaluator, err := policy.NewEvaluator(policy.DefaultChecks(), nil)
	if err != nil {
		log.Fatal(err)
	}
	manifests.Judge(func(object unstructured.Unstructured) ([]string, error) {
		template, err := podTemplate(object)
		if err != nil {
			return nil, err
		}
		results := evaluator.EvaluatePod(restricted, &template.ObjectMeta, &template.Spec)
		if verdict := policy.AggregateCheckResults(results); !verdict.Allowed {
			return []string{verdict.ForbiddenDetail()}, nil
		}
		return nil, nil
	})
}

// podTemplate finds the template of an object's pods; a pod is taken for its own.
func podTemplate(object unstructured.Unstructured) (*corev1.PodTemplateSpec, error) {
	var found map[string]any
	var err error
	switch object.GetKind() {
	case "Pod":
		found = map[string]any{"metadata": object.Object["metadata"], "spec": object.Object["spec"]}
	case "CronJob":
		found, _, err = unstructured.NestedMap(object.Object, "spec", "jobTemplate", "spec", "template")
	default:
		found, _, err = unstructured.NestedMap(object.Object, "spec", "template")
	}
	if err != nil {
		return nil, err
	}
	var template corev1.PodTemplateSpec
	return &template, runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(found, &template, true)
}
