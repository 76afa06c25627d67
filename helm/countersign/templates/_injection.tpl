{{/* A value as an expression of CEL, in which all values of a map have one type unless each is dyn(). */}}
{{- define "countersign.cel" -}}
{{- $value := . -}}
{{- $parts := list -}}
{{- if kindIs "map" . -}}
{{-   range keys . | sortAlpha -}}
{{-     $parts = append $parts (printf "%s: dyn(%s)" (toJson .) (include "countersign.cel" (get $value .))) -}}
{{-   end -}}
{{-   printf "{%s}" (join ", " $parts) -}}
{{- else if kindIs "slice" . -}}
{{-   range . -}}
{{-     $parts = append $parts (include "countersign.cel" .) -}}
{{-   end -}}
{{-   printf "[%s]" (join ", " $parts) -}}
{{- else -}}
{{-   toJson . -}}
{{- end -}}
{{- end -}}

{{/* Operations of JSON Patch that put items before those of a list of the pod's spec; takes the `field` and its `items`. */}}
{{- define "countersign.prepend" -}}
{{- $path := printf "/spec/%s" .field -}}
(has(object.spec.{{ .field }}) ? [] : [JSONPatch{op: "add", path: "{{ $path }}", value: []}]) + [
{{- range reverse .items }}
  JSONPatch{op: "add", path: "{{ $path }}/0", value: {{ include "countersign.cel" . }}},
{{- end }}
]
{{- end -}}

{{/* Which pods the policies are about: those that are made with the label, in any namespace. */}}
{{- define "countersign.injectionMatch" -}}
matchConstraints:
  resourceRules: [{ apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods] }]
  objectSelector: { matchExpressions: [{ key: countersign.io/inject, operator: Exists }] }
{{- end -}}

{{/* A variable of both policies: whether the pod has the container, by now. */}}
{{- define "countersign.injectionIsThere" -}}
- name: isThere
  expression: >-
    (object.spec.containers + object.spec.?initContainers.orValue([])).exists(container, container.name == "countersign")
{{- end -}}
