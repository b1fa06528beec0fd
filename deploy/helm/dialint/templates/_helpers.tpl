{{/* Of a component: (dict "root" $ "name" NAME "component" VALUES) */}}

{{- define "dialint.selector" -}}
app.kubernetes.io/name: dialint
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .name }}
{{- end }}

{{- define "dialint.metadata" -}}
name: {{ .root.Release.Name }}-{{ .name }}
namespace: {{ .root.Release.Namespace }}
labels:
  {{- include "dialint.selector" . | nindent 2 }}
  app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
{{- end }}

{{/* The components that are on, the canary among them, as JSON */}}
{{- define "dialint.components" -}}
{{- $on := dict }}
{{- range $name, $component := .Values.components }}
{{- if $component.enabled }}{{ $_ := set $on $name $component }}{{ end }}
{{- end }}
{{- if and .Values.canary.weight $on.api }}
{{- $_ := set $on "api-canary" (merge (omit .Values.canary "weight") $on.api) }}
{{- end }}
{{- toJson $on }}
{{- end }}

{{- define "dialint.container" -}}
image: {{ .component.image | default .root.Values.image }}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: {drop: [ALL]}
{{- if or .component.env .component.secretEnv }}
env:
  {{- range $name, $value := .component.env }}
  - name: {{ $name }}
    value: {{ tpl $value $.root | quote }}
  {{- end }}
  {{- range $name, $key := .component.secretEnv }}
  - name: {{ $name }}
    valueFrom: {secretKeyRef: {name: {{ $.root.Values.secret }}, key: {{ $key }}}}
  {{- end }}
{{- end }}
resources: {{- toYaml .component.resources | nindent 2 }}
volumeMounts:
  - {name: data, mountPath: /data}
  {{- range $path := .component.writable | default (list "/tmp") }}
  - {name: {{ include "dialint.volume" $path }}, mountPath: {{ $path }}}
  {{- end }}
  {{- if .component.files }}
  - {name: files, mountPath: /run/dialint, readOnly: true}
  {{- end }}
  {{- if .component.claim }}
  - {name: models, mountPath: /models, readOnly: true}
  {{- end }}
{{- end }}

{{- define "dialint.volume" -}}
{{ trimPrefix "/" . | replace "/" "-" }}
{{- end }}

{{- define "dialint.args" -}}
{{- $args := list }}
{{- range .args }}{{ $args = append $args (tpl . $.root) }}{{ end }}
{{- toJson $args }}
{{- end }}

{{/* A pod without its containers; "data" is the volume under /data, {} where another declares it */}}
{{- define "dialint.pod" -}}
automountServiceAccountToken: false
enableServiceLinks: false
terminationGracePeriodSeconds: {{ .component.graceSeconds | default 30 }}
securityContext:
  runAsNonRoot: true
  runAsUser: {{ .component.uid | default 10001 }}
  runAsGroup: {{ .component.uid | default 10001 }}
  fsGroup: {{ .component.uid | default 10001 }}
  fsGroupChangePolicy: OnRootMismatch
  seccompProfile: {type: RuntimeDefault}
{{- with .root.Values.imagePullSecrets }}
imagePullSecrets: {{- toYaml . | nindent 2 }}
{{- end }}
volumes:
  {{- with .data }}
  - {{ toJson (merge (dict "name" "data") .) }}
  {{- end }}
  {{- range $path := .component.writable | default (list "/tmp") }}
  - name: {{ include "dialint.volume" $path }}
    emptyDir: {{ eq $path "/dev/shm" | ternary (dict "medium" "Memory") dict | toJson }}
  {{- end }}
  {{- with .component.files }}
  - name: files
    secret:
      secretName: {{ $.root.Values.secret }}
      items:
        {{- range . }}
        - {key: {{ . }}, path: {{ . }}}
        {{- end }}
  {{- end }}
  {{- with .component.claim }}
  - name: models
    persistentVolumeClaim: {claimName: {{ . }}, readOnly: true}
  {{- end }}
{{- end }}

{{/* KubeRay's own probes need wget in the image */}}
{{- define "dialint.raylet" -}}
{{- $ask := "import urllib.request as r; r.urlopen('http://localhost:52365/api/local_raylet_healthz', timeout=5)" }}
{{- range list "livenessProbe" "readinessProbe" }}
{{ . }}:
  exec: {command: [python, -c, {{ $ask | quote }}]}
  initialDelaySeconds: 30
  timeoutSeconds: 8
  failureThreshold: 20
{{- end }}
{{- end }}
