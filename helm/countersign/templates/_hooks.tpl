{{/* Labels of a pod that Helm runs: no Service, policy or monitor of the chart may take it for a proxy. Takes `chart` and `hook`. */}}
{{- define "countersign.hookLabels" -}}
app.kubernetes.io/name: {{ printf "%s-%s" (include "countersign.name" .chart) .hook }}
app.kubernetes.io/instance: {{ .chart.Release.Name | quote }}
{{- end -}}

{{/* All labels of an object of a hook, or of its pod. The hook's own labels come first, so no value makes its pod look like a proxy. Takes `chart`, `hook` and `labels`. */}}
{{- define "countersign.allHookLabels" -}}
{{- $own := include "countersign.hookLabels" . | fromYaml -}}
{{- merge $own (.labels | default dict) (include "countersign.labels" .chart | fromYaml) | toYaml -}}
{{- end -}}

{{/*
Metadata of an object that Helm makes for a hook. A failed one stays, so that its log can be read. Takes `chart`, `hook`, `events`, `weight`,
and further `labels` and `annotations`.
*/}}
{{- define "countersign.hookMetadata" -}}
name: {{ include "countersign.fullname" .chart }}-{{ .hook }}
namespace: {{ .chart.Release.Namespace | quote }}
labels:
  {{- include "countersign.allHookLabels" . | nindent 2 }}
annotations:
  helm.sh/hook: {{ .events }}
  helm.sh/hook-weight: {{ .weight | default 0 | quote }}
  helm.sh/hook-delete-policy: before-hook-creation,hook-succeeded
  helm.sh/hook-output-log-policy: hook-failed
  {{- with .annotations }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- end -}}

{{/* Spec of a pod that runs one command of the image to its end; takes `chart`, `hook`, `args`, and `without`: fields of the proxy's container to leave out. */}}
{{- define "countersign.hookPodSpec" -}}
{{- $body := include "countersign.containerBody" .chart | fromYaml -}}
{{- $volumes := list -}}
{{- range include "countersign.volumes" .chart | fromYamlArray -}}
{{-   $volumes = append $volumes .name -}}
{{- end -}}
{{- $mounts := list -}}
{{- range $body.volumeMounts -}}
{{-   if has .name $volumes -}}
{{-     $mounts = append $mounts . -}}
{{-   end -}}
{{- end -}}
{{- $_ := set $body "volumeMounts" $mounts -}}
{{- $container := omit $body "ports" "startupProbe" "livenessProbe" "readinessProbe" -}}
{{- range .without -}}
{{-   $container = omit $container . -}}
{{- end -}}
{{- $_ = set $container "args" .args -}}
{{- $_ = set $container "terminationMessagePolicy" "FallbackToLogsOnError" -}}
restartPolicy: Never
{{- with .chart.Values.gateway.serviceAccount }}
{{- /* An account that the release makes does not exist before the first install. */}}
{{- if and .name (not .create) }}
serviceAccountName: {{ .name }}
{{- end }}
{{- end }}
automountServiceAccountToken: false
enableServiceLinks: false
{{- with .chart.Values.image.pullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
securityContext:
  {{- include "countersign.podSecurityContext" .chart | nindent 2 }}
containers:
  - {{ toYaml $container | indent 4 | trim }}
{{- with include "countersign.podFields" (dict "chart" .chart "keys" list) }}
{{ . }}
{{- end }}
{{- end -}}
