{{/* The configuration of the values, completed with the ports that the chart decides. */}}
{{- define "countersign.configuration" -}}
{{- include "countersign.refuse" . -}}
{{- $config := deepCopy .Values.config -}}
{{- $_ := set $config "admin" (dict "bind" ":7412") -}}
{{- $_ := set $config "status" (dict "bind" "127.0.0.1:7413") -}}
{{- if eq .Values.mode "gateway" -}}
{{-   $_ := set $config "listeners" (include "countersign.gatewayListeners" . | fromYamlArray) -}}
{{-   $_ := set $config "drain" (mergeOverwrite (dict "min" "5s") ($config.drain | default dict)) -}}
{{- else if not $config.listeners -}}
{{-   $environment := keys ($config.environments | default dict) | first -}}
{{-   $_ := set $config "listeners" (list (dict "bind" "127.0.0.1:7411" "environment" $environment)) -}}
{{- end -}}
{{- toYaml $config -}}
{{- end -}}

{{/* A listener accepts only known host names, so its `hosts` get the Service's names. */}}
{{- define "countersign.gatewayListeners" -}}
{{- $name := include "countersign.fullname" . -}}
{{- $inNamespace := printf "%s.%s" $name .Release.Namespace -}}
{{- $domain := .Values.gateway.clusterDomain -}}
{{- $hosts := list $name $inNamespace (printf "%s.svc" $inNamespace) (printf "%s.svc.%s" $inNamespace $domain) -}}
{{- range .Values.gateway.listeners }}
- bind: {{ printf ":%d" (int .port) | quote }}
  environment: {{ .environment | quote }}
  hosts: {{ concat $hosts (.hosts | default list) | toJson }}
  callers: {{ toJson .callers }}
  {{- with .mtls }}
  mtls: {{ toJson . }}
  {{- end }}
{{- end }}
{{- end -}}

{{/* Seconds from SIGTERM to the end of Countersign, at the latest, and a reserve: docs/operations.md, "Roll out". */}}
{{- define "countersign.drainSeconds" -}}
{{- $config := include "countersign.configuration" . | fromYaml -}}
{{- $min := include "countersign.seconds" (($config.drain | default dict).min | default "0s") -}}
{{- $request := include "countersign.seconds" (($config.timeouts | default dict).request | default "20s") -}}
{{- add $min $request 2 .Values.graceReserveSeconds -}}
{{- end -}}

{{/* A duration of the configuration (500ms, 20s, 2m, 1h) in whole seconds, rounded up. */}}
{{- define "countersign.seconds" -}}
{{- div (include "countersign.milliseconds" . | int64 | add 999) 1000 -}}
{{- end -}}

{{- define "countersign.milliseconds" -}}
{{- $units := dict "ms" 1 "s" 1000 "m" 60000 "h" 3600000 -}}
{{- mul (regexFind "^[0-9]+" . | atoi) (get $units (regexFind "[a-z]+$" .)) -}}
{{- end -}}
