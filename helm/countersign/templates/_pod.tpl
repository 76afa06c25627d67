{{/* The container, without the field that makes it a sidecar. No preStop: SIGTERM drains. */}}
{{- define "countersign.containerBody" -}}
name: countersign
image: {{ include "countersign.image" . }}
imagePullPolicy: {{ .Values.image.pullPolicy }}
{{- range $key := list "env" "envFrom" }}
{{- with get $.Values $key }}
{{ $key }}:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}
ports:
  - name: cs-admin
    containerPort: 7412
startupProbe:
  httpGet: { path: /livez, port: cs-admin }
  {{- toYaml .Values.probes.startup | nindent 2 }}
livenessProbe:
  httpGet: { path: /livez, port: cs-admin }
  {{- toYaml .Values.probes.liveness | nindent 2 }}
{{- if include "countersign.hasReadinessProbe" . }}
readinessProbe:
  httpGet: { path: /readyz, port: cs-admin }
  {{- toYaml .Values.probes.readiness | nindent 2 }}
{{- end }}
resources:
  {{- toYaml .Values.resources | nindent 2 }}
securityContext:
  {{- include "countersign.securityContext" . | nindent 2 }}
volumeMounts:
  - name: countersign-config
    mountPath: /etc/countersign
    readOnly: true
  {{- range .Values.secrets }}
  {{- if not .injected }}
  - name: {{ include "countersign.secretVolume" . }}
    mountPath: {{ list "/run/secrets/countersign" .folder | compact | join "/" }}
    readOnly: true
  {{- end }}
  {{- end }}
  {{- with .Values.extraVolumeMounts }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- end -}}

{{/* A sidecar has a readiness probe only if its configuration demands one: otherwise the application alone decides. Not empty means yes. */}}
{{- define "countersign.hasReadinessProbe" -}}
{{- $config := .Values.config -}}
{{- if or (eq .Values.mode "gateway") (eq $config.readiness "token") ($config.reload | default dict).unreadyAfterRefusal }}yes{{ end -}}
{{- end -}}

{{- define "countersign.securityContext" -}}
{{- $group := dict -}}
{{- if .Values.securityContext.runAsUser -}}
{{-   $_ := set $group "runAsGroup" (include "countersign.group" . | int) -}}
{{- end -}}
{{- mergeOverwrite $group .Values.securityContext | toYaml -}}
{{- end -}}

{{/* For pods that the chart makes. If the cluster chooses the user, it chooses the group for volumes too. */}}
{{- define "countersign.podSecurityContext" -}}
{{- $group := dict -}}
{{- if and (eq .Values.mode "gateway") .Values.securityContext.runAsUser -}}
{{-   $_ := set $group "fsGroup" (include "countersign.group" . | int) -}}
{{- end -}}
{{- mergeOverwrite $group .Values.gateway.podSecurityContext | toYaml -}}
{{- end -}}

{{/*
The kubelet gives files of Secrets to root and to the pod's fsGroup. In a gateway's pod the chart sets one. In an
application's pod that would change the owner of the application's volumes too, so there the container is in group 0.
*/}}
{{- define "countersign.group" -}}
{{- ternary 65532 0 (eq .Values.mode "gateway") -}}
{{- end -}}

{{/* The volume of one of .Values.secrets. One without a folder is the whole of /run/secrets/countersign, as in deploy/patch.yaml. */}}
{{- define "countersign.secretVolume" -}}
{{- if .folder }}countersign-secret-{{ .folder }}{{ else }}countersign-secrets{{ end -}}
{{- end -}}

{{/* Volumes are mounted as whole folders: a file mounted by subPath is never updated. Takes the context, or a dict of it (`chart`) and a `configMap`. */}}
{{- define "countersign.volumes" -}}
{{- $chart := .chart | default . -}}
- name: countersign-config
  configMap:
    name: {{ .configMap | default (include "countersign.fullname" $chart) }}
{{- range $chart.Values.secrets }}
{{- if .volume }}
- name: {{ include "countersign.secretVolume" . }}
  {{- toYaml .volume | nindent 2 }}
{{- else if not .injected }}
- name: {{ include "countersign.secretVolume" . }}
  secret:
    secretName: {{ include "countersign.secretName" (dict "chart" $chart "secret" .) }}
    defaultMode: 0440
{{- end }}
{{- end }}
{{- with $chart.Values.extraVolumes }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "countersign.annotations" -}}
{{- if .Values.rollOnChange -}}
checksum/countersign: {{ include "countersign.configuration" . | sha256sum }}
{{- end -}}
{{- end -}}
