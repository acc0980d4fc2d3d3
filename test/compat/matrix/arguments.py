# SPDX-License-Identifier: Apache-2.0
"""Valid arguments for each directive of each stock module, as the manual describes them. A line that begins with "!" gets a server of
its own where it stands outside sections, since it concerns all hosts; one that begins with "-" is not driven, and says why. "|" ends
a line of the configuration. @C@ is the conf folder of the server."""

TEXT = r"""
[core]
-<Directory it is one of the kinds of sections
-<DirectoryMatch it is a section, which is tried with the others
-<Location it is one of the kinds of sections
-<LocationMatch it is a section, which is tried with the others
-<VirtualHost it is one of the kinds of sections
<If "true">|Header set X-If yes|</If>
-<Else it needs an If before it; with it, it is a section as any
-<ElseIf it needs an If before it; with it, it is a section as any
<Files "a.*">|Header set X-Files yes|</Files>
<FilesMatch "^a">|Header set X-Match yes|</FilesMatch>
<IfDefine NONE>|Header set X-No yes|</IfDefine>
<IfDirective Header>|Header set X-Dir yes|</IfDirective>
<IfFile @C@/users>|Header set X-File yes|</IfFile>
<IfModule mod_headers.c>|Header set X-Module yes|</IfModule>
<IfSection Directory>|Header set X-Section yes|</IfSection>
<Limit GET>|Require all denied|</Limit>
<LimitExcept GET>|Require all denied|</LimitExcept>
!AcceptFilter http none
AcceptPathInfo Off
!AccessFileName .other
AddDefaultCharset utf-8
AllowEncodedSlashes On
AllowOverride None
AllowOverrideList Header
CGIPassAuth On
CGIVar REQUEST_URI original-uri
ContentDigest On
!CoreDumpDirectory @ROOT@/logs
!DefaultRuntimeDir logs
DefaultType none
Define MATRIX yes
!DocumentRoot @ROOT@/htdocs
EnableMMAP Off
EnableSendfile Off
-Error it ends the configuration
ErrorDocument 404 "none"
ErrorLog @ROOT@/logs/more_log
!ErrorLogFormat "%M"
!ExtendedStatus On
FileETag None
!FlushMaxPipelined 3
!FlushMaxThreshold 30000
ForceType text/x-forced
HostnameLookups Off
!HttpProtocolOptions Unsafe
Include @C@/included.conf
IncludeOptional @C@/none*.conf
LimitInternalRecursion 5
LimitRequestBody 1000
LimitRequestFields 50
LimitRequestFieldSize 4000
LimitRequestLine 4000
LimitXMLRequestBody 1000
LogLevel warn
!MaxConnectionsPerChild 10000
!MaxMemFree 100
MaxRangeOverlaps 2
MaxRangeReversals 2
MaxRanges 2
!MaxRequestsPerChild 10000
MergeSlashes OFF
MergeTrailers on
!Mutex file:@ROOT@/logs rewrite-map
!NameVirtualHost *:@PORT@
Options -Indexes
!PidFile logs/httpd.pid
!Port 80
Protocol http
Protocols http/1.1
ProtocolsHonorOrder Off
QualifyRedirectURL On
RLimitCPU 100
RLimitMEM max
RLimitNPROC max
ReadBufferSize 4096
!RegexDefaultOptions +DOLLAR_ENDONLY
!RegisterHttpMethod BREW
!ScoreBoardFile logs/board
!SeeRequestTail On
ServerAdmin me@example.com
ServerAlias other.example.com
!ServerName localhost
ServerPath /path
!ServerRoot @ROOT@
ServerSignature EMail
!ServerTokens Prod
SetHandler default-handler
SetInputFilter DEFLATE
SetOutputFilter DEFLATE
StrictHostCheck OFF
!ThreadStackSize 1000000
TimeOut 50
TraceEnable on
UnDefine MATRIX
UseCanonicalName On
UseCanonicalPhysicalPort On
[event]
!AsyncRequestWorkerFactor 3
!GracefulShutdownTimeout 3
-Listen it is in each configuration
!ListenBackLog 100
!ListenCoresBucketsRatio 8
!ListenTCPDeferAccept 1
!MaxClients 100
!MaxRequestWorkers 100
!MaxSpareThreads 75
!MinSpareThreads 25
!ReceiveBufferSize 0
!SendBufferSize 0
!ServerLimit 16
!StartServers 1
!ThreadLimit 64
!ThreadsPerChild 25
[http_core]
KeepAlive On
KeepAliveTimeout 4
MaxKeepAliveRequests 1000
[access_compat]
Satisfy Any
allow from all
deny from 127.0.0.1
order deny,allow
[actions]
Action text/plain /none.cgi
Script PUT /none.cgi
[alias]
Alias /aliased @ROOT@/htdocs
AliasMatch ^/am/(.*) @ROOT@/htdocs/$1
AliasPreservePath ON
Redirect 301 /moved http://example.com/
RedirectMatch ^/rm(.*) http://example.com/$1
RedirectPermanent /rp http://example.com/
RedirectRelative On
RedirectTemp /rt http://example.com/
ScriptAlias /sa @ROOT@/htdocs
ScriptAliasMatch ^/sam/(.*) @ROOT@/htdocs/$1
[allowmethods]
AllowMethods POST
[auth_basic]
AuthBasicAuthoritative Off
AuthBasicFake user
AuthBasicProvider file
AuthBasicUseDigestAlgorithm MD5
[auth_digest]
AuthDigestAlgorithm MD5
AuthDigestDomain /
AuthDigestNcCheck Off
AuthDigestNonceLifetime 100
AuthDigestProvider file
AuthDigestQop auth
!AuthDigestShmemSize 100000
[auth_form]
AuthFormAuthoritative Off
AuthFormBody body
AuthFormDisableNoStore On
AuthFormFakeBasicAuth On
AuthFormLocation location
AuthFormLoginRequiredLocation /login
AuthFormLoginSuccessLocation /done
AuthFormLogoutLocation /out
AuthFormMethod method
AuthFormMimetype type
AuthFormPassword pass
AuthFormProvider file
AuthFormSitePassphrase secret
AuthFormSize 1000
AuthFormUsername name
[authn_anon]
Anonymous anonymous
Anonymous_LogEmail Off
Anonymous_MustGiveEmail Off
Anonymous_NoUserID On
Anonymous_VerifyEmail On
[authn_core]
<AuthnProviderAlias file other>|AuthUserFile @C@/users|</AuthnProviderAlias>
AuthName matrix
AuthType Basic|AuthName matrix|AuthBasicProvider file|AuthUserFile @C@/users|Require valid-user
[authn_dbd]
AuthDBDUserPWQuery "SELECT password FROM users WHERE name = %s"
AuthDBDUserRealmQuery "SELECT password FROM users WHERE name = %s AND realm = %s"
[authn_dbm]
AuthDBMType default
AuthDBMUserFile @C@/users.dbm
[authn_file]
AuthUserFile @C@/users
[authn_socache]
AuthnCacheContext directory
!AuthnCacheEnable
AuthnCacheProvideFor file
!AuthnCacheSOCache shmcb
AuthnCacheTimeout 10
[authnz_fcgi]
AuthnzFcgiCheckAuthnProvider None
!AuthnzFcgiDefineProvider authn here fcgi://127.0.0.1:9/
[authnz_ldap]
AuthLDAPAuthorizePrefix A_
AuthLDAPBindAuthoritative off
AuthLDAPBindDN cn=a
AuthLDAPBindPassword secret
!AuthLDAPCharsetConfig @C@/charset.conv
AuthLDAPCompareAsUser on
AuthLDAPCompareDNOnServer off
AuthLDAPDereferenceAliases never
AuthLDAPGroupAttribute member
AuthLDAPGroupAttributeIsDN off
AuthLDAPInitialBindAsUser on
AuthLDAPInitialBindPattern (.+) cn=$1
AuthLDAPMaxSubGroupDepth 3
AuthLDAPRemoteUserAttribute uid
AuthLDAPRemoteUserIsDN on
AuthLDAPSearchAsUser on
AuthLDAPSubGroupAttribute member
AuthLDAPSubGroupClass group
AuthLDAPURL ldap://127.0.0.1:9/o=a?uid
[authz_core]
<AuthzProviderAlias ip here 127.0.0.1></AuthzProviderAlias>
<RequireAll>|Require all granted|</RequireAll>
<RequireAny>|Require all denied|Require ip 127.0.0.1|</RequireAny>
<RequireNone>|Require ip 10.1.1.1|</RequireNone>|Require all granted
AuthMerging And|Require all granted
AuthzSendForbiddenOnFailure On
Require ip 10.1.1.1
[authz_dbd]
AuthzDBDLoginToReferer On
AuthzDBDQuery "SELECT g FROM groups WHERE name = %s"
AuthzDBDRedirectQuery "SELECT u FROM users WHERE name = %s"
[authz_dbm]
AuthDBMGroupFile @C@/groups.dbm
AuthzDBMType default
[authz_groupfile]
AuthGroupFile @C@/groups
[autoindex]
AddAlt text .txt
AddAltByEncoding zipped x-gzip
AddAltByType texts text/*
AddDescription "a file" *.txt
AddIcon /icons/t.gif .txt
AddIconByEncoding /icons/z.gif x-gzip
AddIconByType (TXT,/icons/t.gif) text/*
DefaultIcon /icons/d.gif
FancyIndexing on
HeaderName a.txt
IndexHeadInsert "<meta name=a>"
IndexIgnore a.*
IndexIgnoreReset ON
IndexOptions FancyIndexing HTMLTable SuppressDescription
IndexOrderDefault Descending Size
IndexStyleSheet /a.css
ReadmeName a.txt
[brotli]
BrotliAlterETag NoChange
BrotliCompressionMaxInputBlock 18
BrotliCompressionQuality 3
BrotliCompressionWindow 15
BrotliFilterNote Ratio ratio
[buffer]
BufferSize 1000
[cache]
CacheBypassCookies a_*
CacheDefaultExpire 100
CacheDetailHeader on
CacheDisable on
CacheEnable disk
CacheHeader on
CacheIgnoreCacheControl On
CacheIgnoreHeaders Set-Cookie
CacheIgnoreNoLastMod On
CacheIgnoreQuery utm_*
CacheIgnoreQueryString On
CacheIgnoreURLSessionIdentifiers id
CacheKey "%{HTTP:X-Key}"
CacheKeyBaseURL http://example.com/
CacheKeyModify -qs:utm*
CacheLastModifiedFactor 0.5
CacheLock on
CacheLockMaxAge 5
CacheLockPath @ROOT@/logs
CacheLookup on
CacheMaxExpire 1000
!CacheMaxFetching 64M
!CacheMaxObjects 1000
!CacheMaxTags 50
!CacheMaxVariants 100
!CacheMemory 64M
CacheMethods GET QUERY
CacheMinExpire 10
CacheNoVarySearch On
CachePurge 127.0.0.1
CacheQuickHandler off
CacheRefreshAhead 10% 4
CacheSortQuery On
CacheStaleOnError off
CacheStatusHeader on
CacheStoreCookies On
CacheStoreExpired On
CacheStoreNoStore On
CacheStorePrivate On
!LiteSpeedCache On
LiteSpeedSessions a_*
[cache_disk]
CacheDirLength 2
CacheDirLevels 2
CacheMaxFileSize 100000
!CacheMaxSize 64M
CacheMinFileSize 2
CacheReadSize 1000
CacheReadTime 100
CacheRoot @ROOT@/work
[cache_socache]
CacheSocache shmcb
CacheSocacheMaxSize 10000
CacheSocacheMaxTime 100
CacheSocacheMinTime 10
CacheSocacheReadSize 1000
CacheSocacheReadTime 100
[case_filter]
CaseFilter on
[case_filter_in]
CaseFilterIn on
[cern_meta]
MetaDir .web
MetaFiles on
MetaSuffix .meta
[cgi]
CGIScriptTimeout 10
ScriptLog @ROOT@/logs/script
ScriptLogBuffer 1000
ScriptLogLength 1000
[cgid]
CGIDScriptTimeout 10
ScriptLog @ROOT@/logs/script
ScriptLogBuffer 1000
ScriptLogLength 1000
!ScriptSock @ROOT@/logs/sock
[charset_lite]
CharsetDefault iso-8859-1
CharsetOptions NoImplicitAdd
CharsetSourceEnc utf-8
[dav]
DAV On
DavBasePath /
DavDepthInfinity on
DavLockDiscovery off
DavMinTimeout 10
[dav_fs]
DavLockDB @ROOT@/work/lock
[dav_lock]
DavGenericLockDB @ROOT@/work/lock
[dbd]
DBDExptime 10
DBDInitSQL "SELECT 1"
DBDKeep 2
DBDMax 2
DBDMin 1
DBDParams @ROOT@/work/db
DBDPersist Off
DBDPrepareSQL "SELECT 1" one
-DBDriver its driver is a package of its own
[deflate]
DeflateAlterETag NoChange
DeflateBufferSize 4000
DeflateCompressionLevel 3
DeflateFilterNote Ratio ratio
DeflateInflateLimitRequestBody 10000
DeflateInflateRatioBurst 4
DeflateInflateRatioLimit 100
DeflateMemLevel 5
DeflateWindowSize 10
[dialup]
ModemStandard V.92
[dir]
DirectoryCheckHandler On
DirectoryIndex a.txt
DirectoryIndexRedirect on
DirectorySlash Off
FallbackResource /a.txt
[dumpio]
DumpIOInput On
DumpIOOutput On
[echo]
ProtocolEcho Off
[env]
PassEnv PATH
SetEnv A_NAME value
UnsetEnv A_NAME
[expires]
ExpiresActive On
ExpiresByType text/plain A100000
ExpiresDefault "access plus 1 day"
[ext_filter]
ExtFilterDefine cat mode=output cmd=/bin/cat
ExtFilterOptions LogStderr
[file_cache]
CacheFile @ROOT@/htdocs/a.txt
MMapFile @ROOT@/htdocs/a.txt
[filter]
AddOutputFilterByType DEFLATE text/plain
FilterChain !
FilterDeclare one
FilterProtocol two change=yes
FilterProvider two DEFLATE "true"
FilterTrace one 1
[headers]
Header set X-Set value
RequestHeader set X-Set value
[heartbeat]
-HeartbeatAddress it sends to a multicast group
[heartmonitor]
-HeartbeatListen it listens to a multicast group
HeartbeatMaxServers 10
HeartbeatStorage logs/beats
[http2]
H2CopyFiles on
H2Direct off
H2EarlyHint Link "</a.txt>"
H2EarlyHints on
H2MaxDataFrameLen 10000
H2MaxHeaderBlockLen 10000
H2MaxSessionStreams 10
H2MaxStreamErrors 10
H2MaxWorkerIdleSeconds 10
!H2MaxWorkers 20
!H2MinWorkers 2
H2ModernTLSOnly off
H2OutputBuffering off
H2Padding 2
H2ProxyRequests on
H2Push off
H2PushDiarySize 64
H2PushPriority text/css after 10
H2PushResource /a.txt
H2SerializeHeaders on
H2SessionExtraFiles 5
H2StreamMaxMemSize 70000
H2StreamTimeout 10
H2TLSCoolDownSecs 2
H2TLSWarmUpSize 0
H2Upgrade on
H2WebSockets on
H2WindowSize 70000
[ident]
IdentityCheck off
IdentityCheckTimeout 5
[imagemap]
ImapBase map
ImapDefault nocontent
ImapMenu none
[include]
SSIEndTag "%>"
SSIErrorMsg wrong
SSIETag on
SSILastModified on
SSILegacyExprParser on
SSIStartTag "<%"
SSITimeFormat %H
SSIUndefinedEcho none
XBitHack full
[info]
AddModuleInfo mod_info.c "some text"
[lbmethod_heartbeat]
HeartbeatStorage logs/beats
[log_config]
BufferedLogs Off
CustomLog logs/custom "%h %s"
GlobalLog logs/global "%h %s"
LogFormat "%h" short
TransferLog logs/transfer
[log_debug]
LogMessage "message" hook=all
[log_forensic]
ForensicLog logs/forensic
[logio]
LogIOTrackTTFB ON
[lua]
<LuaHookPreTranslateName handle>|function handle(r) return apache2.DECLINED end|</LuaHookPreTranslateName>
<LuaHookAccessChecker handle>|function handle(r) return apache2.OK end|</LuaHookAccessChecker>
<LuaHookAuthChecker handle>|function handle(r) return apache2.OK end|</LuaHookAuthChecker>
<LuaHookCheckUserID handle>|function handle(r) return apache2.OK end|</LuaHookCheckUserID>
<LuaHookFixups handle>|function handle(r) return apache2.OK end|</LuaHookFixups>
<LuaHookMapToStorage handle>|function handle(r) return apache2.DECLINED end|</LuaHookMapToStorage>
<LuaHookTranslateName handle>|function handle(r) return apache2.DECLINED end|</LuaHookTranslateName>
<LuaHookTypeChecker handle>|function handle(r) return apache2.DECLINED end|</LuaHookTypeChecker>
<LuaQuickHandler handle>|function handle(r) return apache2.DECLINED end|</LuaQuickHandler>
LuaAuthzProvider luauser @C@/hook.lua authz
LuaCodeCache stat
LuaHookAccessChecker @C@/hook.lua decline
LuaHookAuthChecker @C@/hook.lua decline
LuaHookCheckUserID @C@/hook.lua decline
LuaHookFixups @C@/hook.lua fixup
LuaHookInsertFilter @C@/hook.lua decline
LuaHookLog @C@/hook.lua decline
LuaHookMapToStorage @C@/hook.lua decline
LuaHookPreTranslateName @C@/hook.lua decline
LuaHookTranslateName @C@/hook.lua decline
LuaHookTypeChecker @C@/hook.lua decline
LuaInherit parent-last
LuaInputFilter inlua @C@/hook.lua filter
LuaMapHandler /mapped @C@/hook.lua handle
LuaOutputFilter outlua @C@/hook.lua filter
LuaPackageCPath @C@/?.so
LuaPackagePath @C@/?.lua
LuaQuickHandler @C@/hook.lua decline
LuaRoot @C@
LuaScope request
-Lua_____ByteCodeHack mod_lua writes it itself, for what stands in its sections
[macro]
<Macro one $a>|Header set X-Macro $a|</Macro>
MacroIgnoreBadNesting
MacroIgnoreEmptyArgs
-UndefMacro it needs a macro that is used nowhere else
-Use it needs a macro defined before it, and its body stands for other directives
[md]
-AutoHTTPS with it the server asks for a certificate
-MDomain with it the server asks for a certificate
-<MDomain with it the server asks for a certificate
-<MDomainSet with it the server asks for a certificate
MDActivationDelay 1d
MDBaseServer off
MDCACertificateFile @C@/cert.pem
MDCAChallenges http-01
MDCertificateAgreement accepted
MDCertificateAuthority https://127.0.0.1:9/directory
MDCertificateCheck name http://127.0.0.1:9/
-MDCertificateFile it belongs into a section for a managed domain
-MDCertificateKeyFile it belongs into a section for a managed domain
MDCertificateProtocol ACME
MDCertificateStatus off
MDChallengeDns01 /bin/true
MDChallengeDns01Version 2
!MDCheckInterval 12h
MDContactEmail me@example.com
MDDriveMode manual
MDExternalAccountBinding none
!MDHttpProxy http://127.0.0.1:9/
MDHttpProxyCACertificateFile @C@/cert.pem
!MDInitialDelay 10s
!MDMatchNames all
-MDMember it belongs into a managed domain
MDMembers auto
!MDMessageCmd /bin/true
MDMustStaple off
!MDNotifyCmd /bin/true
!MDPortMap http:80
!MDDnsResponder acme.example.net 127.0.0.1:5353 ns=ns1.example.net
!MDOnDemand off
!MDOnDemandLimits names=100 rate=10/h wait=5
MDPrivateKeys RSA 2048
MDProfile classic
MDProfileMandatory off
MDRenewMode manual
MDRenewViaARI off
MDRenewWindow 30d
MDRequireHttps off
!MDRetryDelay 5s
!MDRetryFailover 13
MDServerStatus off
MDStapleOthers off
MDStapling off
MDStaplingKeepResponse 7d
MDStaplingRenewWindow 33%
!MDStoreDir work/md
!MDStoreLocks off
MDWarnWindow 10%
[mime]
AddCharset utf-16 .txt
AddEncoding x-other .txt
AddHandler default-handler .txt
!AddInputFilter DEFLATE .txt
AddLanguage de .txt
AddOutputFilter DEFLATE .txt
AddType text/x-other .txt
DefaultLanguage fr
ModMimeUsePathInfo On
MultiviewsMatch Any
RemoveCharset .txt
RemoveEncoding .txt
RemoveHandler .txt
RemoveInputFilter .txt
RemoveLanguage .txt
RemoveOutputFilter .txt
RemoveType .txt
TypesConfig conf/mime.types
[mime_magic]
MimeMagicFile @C@/magic
[negotiation]
CacheNegotiatedDocs On
ForceLanguagePriority Fallback
LanguagePriority en de
[proxy]
<Proxy http://127.0.0.1:9/>|ProxySet timeout=3|</Proxy>
<ProxyMatch ^http://127.0.0.1:9/>|ProxyAddHeaders Off|</ProxyMatch>
!BalancerGrowth 5
BalancerInherit Off
BalancerMember balancer://one http://127.0.0.1:9/
!BalancerPersist Off
NoProxy 127.0.0.0/8
Proxy100Continue Off
ProxyAddHeaders Off
ProxyBadHeader Ignore
ProxyBlock blocked.example.com
ProxyDomain .example.com
ProxyErrorOverride On
ProxyIOBufferSize 4096
ProxyMaxForwards 3
ProxyPass http://127.0.0.1:9/
ProxyPassInherit Off
ProxyPassInterpolateEnv On
ProxyPassMatch http://127.0.0.1:9/
ProxyPassReverse http://127.0.0.1:9/
ProxyPassReverseCookieDomain a.example.com b.example.com
ProxyPassReverseCookiePath /a /b
ProxyPreserveHost On
ProxyReceiveBufferSize 4096
ProxyRemote ftp http://127.0.0.1:9/
ProxyRemoteMatch ^ftp http://127.0.0.1:9/
ProxyRequests Off
ProxySet http://127.0.0.1:9/ timeout=3
ProxySourceAddress 127.0.0.1
ProxyStatus On
ProxyTimeout 10
ProxyVia On
[proxy_connect]
AllowCONNECT 443
[proxy_express]
ProxyExpressDBMFile @C@/express
ProxyExpressDBMType default
ProxyExpressEnable off
[proxy_fcgi]
ProxyFCGIBackendType GENERIC
ProxyFCGISetEnvIf "true" A_NAME value
[proxy_ftp]
ProxyFtpDirCharset utf-8
ProxyFtpEscapeWildcards off
ProxyFtpListOnWildcard off
[proxy_hcheck]
ProxyHCExpr ok {%{REQUEST_STATUS} =~ /^[234]/}
!ProxyHCTPsize 4
ProxyHCTemplate tcp hcmethod=tcp
[proxy_html]
ProxyHTMLBufSize 4096
ProxyHTMLCharsetOut *
ProxyHTMLDocType HTML
ProxyHTMLEnable On
ProxyHTMLEvents onclick
ProxyHTMLExtended On
ProxyHTMLFixups lowercase
ProxyHTMLInterp On
ProxyHTMLLinks a href
ProxyHTMLMeta On
ProxyHTMLStripComments On
ProxyHTMLURLMap /a /b
[proxy_scgi]
ProxySCGIInternalRedirect Off
ProxySCGISendfile On
[proxy_wstunnel]
ProxyWebsocketFallbackToProxyHttp Off
[reflector]
ReflectorHeader X-In X-Out
[remoteip]
RemoteIPHeader X-Client
RemoteIPInternalProxy 127.0.0.1
RemoteIPInternalProxyList @C@/proxies
RemoteIPProxiesHeader X-By
RemoteIPProxyProtocol Off
RemoteIPProxyProtocolExceptions 127.0.0.1
RemoteIPTrustedProxy 127.0.0.1
RemoteIPTrustedProxyList @C@/proxies
[reqtimeout]
RequestReadTimeout header=20-40,MinRate=500 body=20
[request]
KeptBodySize 1000
[rewrite]
RewriteBase /
RewriteCond %{REQUEST_URI} none
RewriteEngine on
RewriteMap low int:tolower
RewriteOptions Inherit
RewriteRule ^none$ /a.txt
[sed]
InputSed s/a/b/
OutputSed s/a/b/
[session]
Session On
SessionEnv On
SessionExclude /none
SessionExpiryUpdateInterval 10
SessionHeader X-Session
SessionInclude /
SessionMaxAge 100
[session_cookie]
SessionCookieName session path=/
SessionCookieName2 session2 path=/
SessionCookieRemove On
[session_crypto]
SessionCryptoCipher aes256
!SessionCryptoDriver openssl
SessionCryptoPassphrase secret
SessionCryptoPassphraseFile @C@/users
[session_dbd]
SessionDBDCookieName session path=/
SessionDBDCookieName2 session2 path=/
SessionDBDCookieRemove On
SessionDBDDeleteLabel a
SessionDBDInsertLabel a
SessionDBDPerUser On
SessionDBDSelectLabel a
SessionDBDUpdateLabel a
[setenvif]
BrowserMatch .* A_NAME
BrowserMatchNoCase .* A_NAME
SetEnvIf Host . A_NAME
SetEnvIfExpr "true" A_NAME=yes
SetEnvIfNoCase Host . A_NAME
[so]
-LoadFile it is no matter of sections
-LoadModule it is in each configuration
[socache_memcache]
MemcacheConnTTL 10
[socache_redis]
RedisConnPoolTTL 10
RedisTimeout 500ms
[speling]
CheckBasenameMatch off
CheckCaseOnly on
CheckSpelling on
[ssl]
SSLCACertificateFile @C@/cert.pem
SSLCACertificatePath @C@/certs
SSLCADNRequestFile @C@/cert.pem
SSLCADNRequestPath @C@/certs
SSLCARevocationCheck none
SSLCARevocationFile @C@/none.crl
SSLCARevocationPath @C@/certs
SSLCertificateChainFile @C@/cert.pem
SSLCertificateFile @C@/cert.pem
SSLCertificateKeyFile @C@/key.pem
SSLCipherSuite HIGH
SSLCompression off
!SSLCryptoDevice builtin
SSLEngine off
!SSLFIPS off
SSLHonorCipherOrder on
SSLInsecureRenegotiation off
SSLLog none
SSLLogLevel none
SSLOCSPDefaultResponder http://127.0.0.1:9/
SSLOCSPEnable off
SSLOCSPNoverify on
SSLOCSPOverrideResponder off
SSLOCSPProxyURL http://127.0.0.1:9/
SSLOCSPResponderCertificateFile @C@/cert.pem
SSLOCSPResponderTimeout 10
SSLOCSPResponseMaxAge 10
SSLOCSPResponseTimeSkew 10
SSLOCSPUseRequestNonce off
SSLOpenSSLConfCmd Options Bugs
SSLOptions +StdEnvVars
!SSLPassPhraseDialog builtin
SSLProtocol TLSv1.2
SSLProxyCACertificateFile @C@/cert.pem
SSLProxyCACertificatePath @C@/certs
SSLProxyCARevocationCheck none
SSLProxyCARevocationFile @C@/none.crl
SSLProxyCARevocationPath @C@/certs
SSLProxyCheckPeerCN off
SSLProxyCheckPeerExpire off
SSLProxyCheckPeerName off
SSLProxyCipherSuite HIGH
SSLProxyEngine on
SSLProxyMachineCertificateChainFile @C@/cert.pem
SSLProxyMachineCertificateFile @C@/both.pem
SSLProxyMachineCertificatePath @C@/certs
SSLProxyProtocol TLSv1.2
SSLProxyVerify none
SSLProxyVerifyDepth 2
!SSLRandomSeed startup builtin
SSLRenegBufferSize 1000
SSLRequire "true"
SSLRequireSSL
SSLSRPUnknownUserSeed secret
SSLSRPVerifierFile @C@/none.srp
!SSLSessionCache none
SSLSessionCacheTimeout 100
SSLSessionTicketKeyFile @C@/ticket
SSLSessionTickets off
!SSLStaplingCache none
SSLStaplingErrorCacheTimeout 10
SSLStaplingFakeTryLater off
SSLStaplingForceURL http://127.0.0.1:9/
SSLStaplingResponderTimeout 10
SSLStaplingResponseMaxAge 10
SSLStaplingResponseTimeSkew 10
SSLStaplingReturnResponderErrors off
SSLStaplingStandardCacheTimeout 10
SSLStrictSNIVHostCheck on
SSLUseStapling off
SSLUserName SSL_CLIENT_S_DN_CN
SSLVHostSNIPolicy secure
SSLVerifyClient none
SSLVerifyDepth 2
[substitute]
Substitute s/a/b/
SubstituteInheritBefore on
SubstituteMaxLineLength 1m
[suexec]
SuexecUserGroup www-data www-data
[unixd]
-ChrootDir the server would not find its files
!Group www-data
!Suexec Off
!User www-data
[userdir]
UserDir disabled
[usertrack]
CookieDomain .example.com
CookieExpires 10
CookieHTTPOnly on
CookieName track
CookieSameSite Lax
CookieSecure on
CookieStyle Cookie
CookieTracking off
[version]
<IfVersion >= 2.4>|Header set X-Version yes|</IfVersion>
[vhost_alias]
VirtualDocumentRoot none
VirtualDocumentRootIP none
VirtualScriptAlias none
VirtualScriptAliasIP none
[watchdog]
!WatchdogInterval 2
[xml2enc]
xml2EncAlias utf-8 utf8x
xml2EncDefault utf-8
xml2StartParse html
[util_ldap]
!LDAPCacheEntries 100
!LDAPCacheTTL 100
!LDAPConnectionPoolTTL 10
!LDAPConnectionTimeout 10
!LDAPLibraryDebug 0
!LDAPOpCacheEntries 100
!LDAPOpCacheTTL 100
LDAPReferralHopLimit 3
LDAPReferrals Off
!LDAPRetries 2
!LDAPRetryDelay 0
!LDAPSharedCacheFile logs/ldap
!LDAPSharedCacheSize 100000
!LDAPTimeout 10
LDAPTrustedClientCert CERT_BASE64 @C@/cert.pem
!LDAPTrustedGlobalCert CA_BASE64 @C@/cert.pem
!LDAPTrustedMode NONE
!LDAPVerifyServerCert Off
[xsendfile]
XSendFile On
XSendFileIgnoreEtag On
XSendFileIgnoreLastModified On
XSendFilePath @C@
"""
