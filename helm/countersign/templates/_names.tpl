{{- define "countersign.name" -}}
{{- .Values.nameOverride | default .Chart.Name | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{- define "countersign.fullname" -}}
{{- $name := include "countersign.name" . -}}
{{- $own := ternary .Release.Name (printf "%s-%s" .Release.Name $name) (contains $name .Release.Name) -}}
{{- .Values.fullnameOverride | default $own | trunc 50 | trimSuffix "-" -}}
{{- end -}}

{{- define "countersign.selectorLabels" -}}
app.kubernetes.io/name: {{ include "countersign.name" . }}
app.kubernetes.io/instance: {{ .Release.Name | quote }}
{{- end -}}

{{- define "countersign.labels" -}}
{{ include "countersign.selectorLabels" . }}
app.kubernetes.io/version: {{ .Values.image.tag | default .Chart.AppVersion | trunc 63 | trimAll "-_." | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimAll "-_." }}
{{- with .Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/* Name, namespace and labels; takes the context, or a dict of it (`chart`), a `suffix` and further `labels`. */}}
{{- define "countersign.metadata" -}}
{{- $chart := .chart | default . -}}
name: {{ include "countersign.fullname" $chart }}{{ .suffix }}
namespace: {{ $chart.Release.Namespace | quote }}
labels:
  {{- include "countersign.labels" $chart | nindent 2 }}
  {{- with .labels }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- end -}}

{{- define "countersign.image" -}}
{{- with .Values.image -}}
{{ .repository }}:{{ .tag | default $.Chart.AppVersion }}{{ with .digest }}@{{ . }}{{ end }}
{{- end -}}
{{- end -}}

{{/* The Secret of one of .Values.secrets; takes a dict of the context (`chart`) and the `secret`. */}}
{{- define "countersign.secretName" -}}
{{- .secret.secretName | default (printf "%s-%s" (include "countersign.fullname" .chart) .secret.folder) -}}
{{- end -}}
