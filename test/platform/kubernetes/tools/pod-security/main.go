// pod-security judges every pod template on standard input as the cluster's own admission does in a namespace with
// pod-security.kubernetes.io/enforce=restricted, latest version. It prints what it judged; exit code 1 where one is refused.
package main

import (
	"fmt"
	"log"
	"os"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"

	"countersign.example/tools/manifests"
)

var restricted = api.LevelVersion{Level: api.LevelRestricted, Version: api.LatestVersion()}

func main() {
	log.SetFlags(0)
	objects, err := manifests.Read(os.Stdin)
	if err != nil {
		log.Fatal(err)
	}
	evaluator, err := policy.NewEvaluator(policy.DefaultChecks(), nil)
	if err != nil {
		log.Fatal(err)
	}
	exitCode := 0
	for _, object := range objects {
		template, err := podTemplate(object)
		if err != nil {
			log.Fatalf("%s: %v", manifests.Name(object), err)
		}
		if template == nil {
			continue
		}
		results := evaluator.EvaluatePod(restricted, &template.ObjectMeta, &template.Spec)
		if verdict := policy.AggregateCheckResults(results); !verdict.Allowed {
			fmt.Printf("%s is refused: %s\n", manifests.Name(object), verdict.ForbiddenDetail())
			exitCode = 1
		} else {
			fmt.Printf("%s is allowed\n", manifests.Name(object))
		}
	}
	os.Exit(exitCode)
}

// podTemplate finds spec.template, or a CronJob's; nil where an object has none.
func podTemplate(object unstructured.Unstructured) (*corev1.PodTemplateSpec, error) {
	path := []string{"spec", "template"}
	if object.GetKind() == "CronJob" {
		path = []string{"spec", "jobTemplate", "spec", "template"}
	}
	found, isThere, err := unstructured.NestedMap(object.Object, path...)
	if err != nil || !isThere || found["spec"] == nil {
		return nil, err
	}
	var template corev1.PodTemplateSpec
	return &template, runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(found, &template, true)
}
