{{/* The container, but for what makes it a sidecar. No preStop: SIGTERM drains. */}}
{{- define "countersign.containerBody" -}}
name: countersign
image: {{ include "countersign.image" . }}
imagePullPolicy: {{ .Values.image.pullPolicy }}
{{- with .Values.env }}
env:
  {{- toYaml . | nindent 2 }}
{{- end }}
ports:
  - name: cs-admin
    containerPort: 7412
startupProbe:
  httpGet: { path: /livez, port: cs-admin }
  periodSeconds: 1
  failureThreshold: 60
livenessProbe:
  httpGet: { path: /livez, port: cs-admin }
  timeoutSeconds: 5
{{- if or (eq .Values.mode "gateway") (eq .Values.config.readiness "token") }}
readinessProbe:
  httpGet: { path: /readyz, port: cs-admin }
  periodSeconds: 5
{{- end }}
resources:
  {{- toYaml .Values.resources | nindent 2 }}
securityContext:
  runAsNonRoot: true
  runAsUser: 65532
  runAsGroup: {{ include "countersign.group" . }}
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: { drop: [ALL] }
  seccompProfile: { type: RuntimeDefault }
volumeMounts:
  - name: countersign-config
    mountPath: /etc/countersign
    readOnly: true
  {{- range .Values.secrets }}
  - name: countersign-secret-{{ .folder }}
    mountPath: /run/secrets/countersign/{{ .folder }}
    readOnly: true
  {{- end }}
{{- end -}}

{{/*
The kubelet gives files of Secrets to root and to the pod's fsGroup. In a pod of its own Countersign sets one. In an
application's pod that would change the owner of the application's volumes too, so there it reads them as group 0.
*/}}
{{- define "countersign.group" -}}
{{- ternary 65532 0 (eq .Values.mode "gateway") -}}
{{- end -}}

{{/* Whole folders: a file mounted by subPath is never updated. */}}
{{- define "countersign.volumes" -}}
- name: countersign-config
  configMap:
    name: {{ include "countersign.fullname" . }}
{{- range .Values.secrets }}
- name: countersign-secret-{{ .folder }}
  secret:
    secretName: {{ include "countersign.secretName" (dict "chart" $ "secret" .) }}
    defaultMode: 0440
{{- end }}
{{- end -}}

{{- define "countersign.annotations" -}}
{{- if .Values.rollOnChange -}}
checksum/countersign: {{ include "countersign.configuration" . | sha256sum }}
{{- end -}}
{{- end -}}
