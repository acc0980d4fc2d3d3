/* SPDX-License-Identifier: Apache-2.0 */
/* Directives of Apache 2.4's own modules, by name. Looked up for a name that no active module offers, so that the message
 * names the module that the configuration needs. */
#include "http_config.h"
#include "configuration.h"

typedef struct stock_module {
    const char *mod;
    const char *directives; /* separated by single blanks */
} stock_module;

/* clang-format off */
static const stock_module stock_modules[] = {
    {"mod_access_compat",
     "Allow Deny Order Satisfy"},
    {"mod_actions",
     "Action Script"},
    {"mod_alias",
     "Alias AliasMatch AliasPreservePath Redirect RedirectMatch RedirectPermanent RedirectRelative "
     "RedirectTemp ScriptAlias ScriptAliasMatch"},
    {"mod_allowmethods",
     "AllowMethods"},
    {"mod_auth_basic",
     "AuthBasicAuthoritative AuthBasicFake AuthBasicProvider AuthBasicUseDigestAlgorithm"},
    {"mod_auth_digest",
     "AuthDigestAlgorithm AuthDigestDomain AuthDigestNonceLifetime AuthDigestProvider "
     "AuthDigestQop AuthDigestShmemSize"},
    {"mod_auth_form",
     "AuthFormAuthoritative AuthFormBody AuthFormDisableNoStore AuthFormFakeBasicAuth "
     "AuthFormLocation AuthFormLoginRequiredLocation AuthFormLoginSuccessLocation "
     "AuthFormLogoutLocation AuthFormMethod AuthFormMimetype AuthFormPassword AuthFormProvider "
     "AuthFormSitePassphrase AuthFormSize AuthFormUsername"},
    {"mod_authn_anon",
     "Anonymous Anonymous_LogEmail Anonymous_MustGiveEmail Anonymous_NoUserID "
     "Anonymous_VerifyEmail"},
    {"mod_authn_core",
     "AuthName AuthnProviderAlias AuthType"},
    {"mod_authn_dbd",
     "AuthDBDUserPWQuery AuthDBDUserRealmQuery"},
    {"mod_authn_dbm",
     "AuthDBMType AuthDBMUserFile"},
    {"mod_authn_file",
     "AuthUserFile"},
    {"mod_authn_socache",
     "AuthnCacheContext AuthnCacheEnable AuthnCacheProvideFor AuthnCacheSOCache AuthnCacheTimeout"},
    {"mod_authnz_fcgi",
     "AuthnzFcgiCheckAuthnProvider AuthnzFcgiDefineProvider"},
    {"mod_authnz_ldap",
     "AuthLDAPAuthorizePrefix AuthLDAPBindAuthoritative AuthLDAPBindDN AuthLDAPBindPassword "
     "AuthLDAPCharsetConfig AuthLDAPCompareAsUser AuthLDAPCompareDNOnServer "
     "AuthLDAPDereferenceAliases AuthLDAPGroupAttribute AuthLDAPGroupAttributeIsDN "
     "AuthLDAPInitialBindAsUser AuthLDAPInitialBindPattern AuthLDAPMaxSubGroupDepth "
     "AuthLDAPRemoteUserAttribute AuthLDAPRemoteUserIsDN AuthLDAPSearchAsUser "
     "AuthLDAPSubGroupAttribute AuthLDAPSubGroupClass AuthLDAPURL"},
    {"mod_authz_core",
     "AuthMerging AuthzProviderAlias AuthzSendForbiddenOnFailure Require RequireAll RequireAny "
     "RequireNone"},
    {"mod_authz_dbd",
     "AuthzDBDLoginToReferer AuthzDBDQuery AuthzDBDRedirectQuery"},
    {"mod_authz_dbm",
     "AuthDBMGroupFile AuthzDBMType"},
    {"mod_authz_groupfile",
     "AuthGroupFile"},
    {"mod_autoindex",
     "AddAlt AddAltByEncoding AddAltByType AddDescription AddIcon AddIconByEncoding AddIconByType "
     "DefaultIcon HeaderName IndexHeadInsert IndexIgnore IndexIgnoreReset IndexOptions "
     "IndexOrderDefault IndexStyleSheet ReadmeName"},
    {"mod_brotli",
     "BrotliAlterETag BrotliCompressionMaxInputBlock BrotliCompressionQuality "
     "BrotliCompressionWindow BrotliFilterNote"},
    {"mod_buffer",
     "BufferSize"},
    {"mod_cache",
     "CacheDefaultExpire CacheDetailHeader CacheDisable CacheEnable CacheHeader "
     "CacheIgnoreCacheControl CacheIgnoreHeaders CacheIgnoreNoLastMod CacheIgnoreQueryString "
     "CacheIgnoreURLSessionIdentifiers CacheKeyBaseURL CacheLastModifiedFactor CacheLock "
     "CacheLockMaxAge CacheLockPath CacheMaxExpire CacheMinExpire CacheQuickHandler "
     "CacheStaleOnError CacheStoreExpired CacheStoreNoStore CacheStorePrivate"},
    {"mod_cache_disk",
     "CacheDirLength CacheDirLevels CacheMaxFileSize CacheMinFileSize CacheReadSize CacheReadTime "
     "CacheRoot"},
    {"mod_cache_socache",
     "CacheSocache CacheSocacheMaxSize CacheSocacheMaxTime CacheSocacheMinTime "
     "CacheSocacheReadSize CacheSocacheReadTime"},
    {"mod_cern_meta",
     "MetaDir MetaFiles MetaSuffix"},
    {"mod_cgi",
     "CGIScriptTimeout ScriptLog ScriptLogBuffer ScriptLogLength"},
    {"mod_cgid",
     "CGIDScriptTimeout ScriptSock"},
    {"mod_charset_lite",
     "CharsetDefault CharsetOptions CharsetSourceEnc"},
    {"mod_dav",
     "Dav DavBasePath DavDepthInfinity DavMinTimeout"},
    {"mod_dav_fs",
     "DavLockDB DavLockDiscovery"},
    {"mod_dav_lock",
     "DavGenericLockDB"},
    {"mod_dbd",
     "DBDExptime DBDInitSQL DBDKeep DBDMax DBDMin DBDParams DBDPersist DBDPrepareSQL DBDriver"},
    {"mod_deflate",
     "DeflateAlterETag DeflateBufferSize DeflateCompressionLevel DeflateFilterNote "
     "DeflateInflateLimitRequestBody DeflateInflateRatioBurst DeflateInflateRatioLimit "
     "DeflateMemLevel DeflateWindowSize"},
    {"mod_dialup",
     "ModemStandard"},
    {"mod_dir",
     "DirectoryCheckHandler DirectoryIndex DirectoryIndexRedirect DirectorySlash FallbackResource"},
    {"mod_dumpio",
     "DumpIOInput DumpIOOutput"},
    {"mod_echo",
     "ProtocolEcho"},
    {"mod_env",
     "PassEnv SetEnv UnsetEnv"},
    {"mod_example_hooks",
     "Example"},
    {"mod_expires",
     "ExpiresActive ExpiresByType ExpiresDefault"},
    {"mod_ext_filter",
     "ExtFilterDefine ExtFilterOptions"},
    {"mod_file_cache",
     "CacheFile MMapFile"},
    {"mod_filter",
     "AddOutputFilterByType FilterChain FilterDeclare FilterProtocol FilterProvider FilterTrace"},
    {"mod_headers",
     "Header RequestHeader"},
    {"mod_heartbeat",
     "HeartbeatAddress"},
    {"mod_heartmonitor",
     "HeartbeatListen HeartbeatMaxServers HeartbeatStorage"},
    {"mod_http2",
     "H2CopyFiles H2Direct H2EarlyHint H2EarlyHints H2MaxDataFrameLen H2MaxHeaderBlockLen "
     "H2MaxSessionStreams H2MaxStreamErrors H2MaxWorkerIdleSeconds H2MaxWorkers H2MinWorkers "
     "H2ModernTLSOnly H2OutputBuffering H2Padding H2ProxyRequests H2Push H2PushDiarySize "
     "H2PushPriority H2PushResource H2SerializeHeaders H2StreamMaxMemSize H2StreamTimeout "
     "H2TLSCoolDownSecs H2TLSWarmUpSize H2Upgrade H2WebSockets H2WindowSize"},
    {"mod_ident",
     "IdentityCheck IdentityCheckTimeout"},
    {"mod_imagemap",
     "ImapBase ImapDefault ImapMenu"},
    {"mod_include",
     "SSIEndTag SSIErrorMsg SSIETag SSILastModified SSILegacyExprParser SSIStartTag SSITimeFormat "
     "SSIUndefinedEcho XBitHack"},
    {"mod_info",
     "AddModuleInfo"},
    {"mod_isapi",
     "ISAPIAppendLogToErrors ISAPIAppendLogToQuery ISAPICacheFile ISAPIFakeAsync "
     "ISAPILogNotSupported ISAPIReadAheadBuffer"},
    {"mod_lbmethod_heartbeat",
     "HeartbeatStorage"},
    {"mod_ldap",
     "LDAPCacheEntries LDAPCacheTTL LDAPConnectionPoolTTL LDAPConnectionTimeout LDAPLibraryDebug "
     "LDAPOpCacheEntries LDAPOpCacheTTL LDAPReferralHopLimit LDAPReferrals LDAPRetries "
     "LDAPRetryDelay LDAPSharedCacheFile LDAPSharedCacheSize LDAPTimeout LDAPTrustedClientCert "
     "LDAPTrustedGlobalCert LDAPTrustedMode LDAPVerifyServerCert"},
    {"mod_log_config",
     "BufferedLogs CustomLog GlobalLog LogFormat TransferLog"},
    {"mod_log_debug",
     "LogMessage"},
    {"mod_log_forensic",
     "ForensicLog"},
    {"mod_logio",
     "LogIOTrackTTFB"},
    {"mod_lua",
     "LuaAuthzProvider LuaCodeCache LuaHookAccessChecker LuaHookAuthChecker LuaHookCheckUserID "
     "LuaHookFixups LuaHookInsertFilter LuaHookLog LuaHookMapToStorage LuaHookPreTranslate "
     "LuaHookTranslateName LuaHookTypeChecker LuaInherit LuaInputFilter LuaMapHandler "
     "LuaOutputFilter LuaPackageCPath LuaPackagePath LuaQuickHandler LuaRoot LuaScope"},
    {"mod_macro",
     "Macro UndefMacro Use"},
    {"mod_md",
     "MDActivationDelay MDBaseServer MDCACertificateFile MDCAChallenges MDCertificateAgreement "
     "MDCertificateAuthority MDCertificateCheck MDCertificateFile MDCertificateKeyFile "
     "MDCertificateMonitor MDCertificateProtocol MDCertificateStatus MDChallengeDns01 "
     "MDChallengeDns01Version MDCheckInterval MDContactEmail MDDriveMode MDExternalAccountBinding "
     "MDHttpProxy MDHttpProxyCACertificateFile MDInitialDelay MDMatchNames MDMember MDMembers "
     "MDMessageCmd MDMustStaple MDNotifyCmd MDomain MDomainSet MDPortMap MDPrivateKeys MDProfile "
     "MDProfileMandatory MDRenewMode MDRenewViaARI MDRenewWindow MDRequireHttps MDRetryDelay "
     "MDRetryFailover MDServerStatus MDStapleOthers MDStapling MDStaplingKeepResponse "
     "MDStaplingRenewWindow MDStoreDir MDStoreLocks MDWarnWindow"},
    {"mod_mime",
     "AddCharset AddEncoding AddHandler AddInputFilter AddLanguage AddOutputFilter AddType "
     "DefaultLanguage ModMimeUsePathInfo MultiviewsMatch RemoveCharset RemoveEncoding "
     "RemoveHandler RemoveInputFilter RemoveLanguage RemoveOutputFilter RemoveType TypesConfig"},
    {"mod_mime_magic",
     "MimeMagicFile"},
    {"mod_negotiation",
     "CacheNegotiatedDocs ForceLanguagePriority LanguagePriority"},
    {"mod_nw_ssl",
     "NWSSLTrustedCerts NWSSLUpgradeable SecureListen"},
    {"mod_privileges",
     "DTracePrivileges PrivilegesMode VHostCGIMode VHostCGIPrivs VHostGroup VHostPrivs VHostSecure "
     "VHostUser"},
    {"mod_proxy",
     "BalancerGrowth BalancerInherit BalancerMember BalancerPersist NoProxy Proxy Proxy100Continue "
     "ProxyAddHeaders ProxyBadHeader ProxyBlock ProxyDomain ProxyErrorOverride ProxyIOBufferSize "
     "ProxyMatch ProxyMaxForwards ProxyPass ProxyPassInherit ProxyPassInterpolateEnv "
     "ProxyPassMatch ProxyPassReverse ProxyPassReverseCookieDomain ProxyPassReverseCookiePath "
     "ProxyPreserveHost ProxyReceiveBufferSize ProxyRemote ProxyRemoteMatch ProxyRequests ProxySet "
     "ProxySourceAddress ProxyStatus ProxyTimeout ProxyVia"},
    {"mod_proxy_connect",
     "AllowCONNECT"},
    {"mod_proxy_express",
     "ProxyExpressDBMFile ProxyExpressDBMType ProxyExpressEnable"},
    {"mod_proxy_fcgi",
     "ProxyFCGIBackendType ProxyFCGISetEnvIf"},
    {"mod_proxy_ftp",
     "ProxyFtpDirCharset ProxyFtpEscapeWildcards ProxyFtpListOnWildcard"},
    {"mod_proxy_hcheck",
     "ProxyHCExpr ProxyHCTemplate ProxyHCTPsize"},
    {"mod_proxy_html",
     "ProxyHTMLBufSize ProxyHTMLCharsetOut ProxyHTMLDocType ProxyHTMLEnable ProxyHTMLEvents "
     "ProxyHTMLExtended ProxyHTMLFixups ProxyHTMLInterp ProxyHTMLLinks ProxyHTMLMeta "
     "ProxyHTMLStripComments ProxyHTMLURLMap"},
    {"mod_proxy_scgi",
     "ProxySCGIInternalRedirect ProxySCGISendfile"},
    {"mod_proxy_wstunnel",
     "ProxyWebsocketFallbackToProxyHttp"},
    {"mod_reflector",
     "ReflectorHeader"},
    {"mod_remoteip",
     "RemoteIPHeader RemoteIPInternalProxy RemoteIPInternalProxyList RemoteIPProxiesHeader "
     "RemoteIPProxyProtocol RemoteIPProxyProtocolExceptions RemoteIPTrustedProxy "
     "RemoteIPTrustedProxyList"},
    {"mod_reqtimeout",
     "RequestReadTimeout"},
    {"mod_request",
     "KeptBodySize"},
    {"mod_rewrite",
     "RewriteBase RewriteCond RewriteEngine RewriteMap RewriteOptions RewriteRule"},
    {"mod_sed",
     "InputSed OutputSed"},
    {"mod_session",
     "Session SessionEnv SessionExclude SessionExpiryUpdateInterval SessionHeader SessionInclude "
     "SessionMaxAge"},
    {"mod_session_cookie",
     "SessionCookieName SessionCookieName2 SessionCookieRemove"},
    {"mod_session_crypto",
     "SessionCryptoCipher SessionCryptoDriver SessionCryptoPassphrase SessionCryptoPassphraseFile"},
    {"mod_session_dbd",
     "SessionDBDCookieName SessionDBDCookieName2 SessionDBDCookieRemove SessionDBDDeleteLabel "
     "SessionDBDInsertLabel SessionDBDPerUser SessionDBDSelectLabel SessionDBDUpdateLabel"},
    {"mod_setenvif",
     "BrowserMatch BrowserMatchNoCase SetEnvIf SetEnvIfExpr SetEnvIfNoCase"},
    {"mod_so",
     "LoadFile LoadModule"},
    {"mod_socache_memcache",
     "MemcacheConnTTL"},
    {"mod_socache_redis",
     "RedisConnPoolTTL RedisTimeout"},
    {"mod_speling",
     "CheckBasenameMatch CheckCaseOnly CheckSpelling"},
    {"mod_ssl",
     "SSLCACertificateFile SSLCACertificatePath SSLCADNRequestFile SSLCADNRequestPath "
     "SSLCARevocationCheck SSLCARevocationFile SSLCARevocationPath SSLCertificateChainFile "
     "SSLCertificateFile SSLCertificateKeyFile SSLCipherSuite SSLCompression SSLCryptoDevice "
     "SSLEngine SSLFIPS SSLHonorCipherOrder SSLInsecureRenegotiation SSLOCSPDefaultResponder "
     "SSLOCSPEnable SSLOCSPNoverify SSLOCSPOverrideResponder SSLOCSPProxyURL "
     "SSLOCSPResponderCertificateFile SSLOCSPResponderTimeout SSLOCSPResponseMaxAge "
     "SSLOCSPResponseTimeSkew SSLOCSPUseRequestNonce SSLOpenSSLConfCmd SSLOptions "
     "SSLPassPhraseDialog SSLProtocol SSLProxyCACertificateFile SSLProxyCACertificatePath "
     "SSLProxyCARevocationCheck SSLProxyCARevocationFile SSLProxyCARevocationPath "
     "SSLProxyCheckPeerCN SSLProxyCheckPeerExpire SSLProxyCheckPeerName SSLProxyCipherSuite "
     "SSLProxyEngine SSLProxyMachineCertificateChainFile SSLProxyMachineCertificateFile "
     "SSLProxyMachineCertificatePath SSLProxyProtocol SSLProxyVerify SSLProxyVerifyDepth "
     "SSLRandomSeed SSLRenegBufferSize SSLRequire SSLRequireSSL SSLSessionCache "
     "SSLSessionCacheTimeout SSLSessionTicketKeyFile SSLSessionTickets SSLSRPUnknownUserSeed "
     "SSLSRPVerifierFile SSLStaplingCache SSLStaplingErrorCacheTimeout SSLStaplingFakeTryLater "
     "SSLStaplingForceURL SSLStaplingResponderTimeout SSLStaplingResponseMaxAge "
     "SSLStaplingResponseTimeSkew SSLStaplingReturnResponderErrors SSLStaplingStandardCacheTimeout "
     "SSLStrictSNIVHostCheck SSLUserName SSLUseStapling SSLVerifyClient SSLVerifyDepth "
     "SSLVHostSNIPolicy"},
    {"mod_substitute",
     "Substitute SubstituteInheritBefore SubstituteMaxLineLength"},
    {"mod_suexec",
     "SuexecUserGroup"},
    {"mod_unixd",
     "ChrootDir Group Suexec User"},
    {"mod_userdir",
     "UserDir"},
    {"mod_usertrack",
     "CookieDomain CookieExpires CookieHTTPOnly CookieName CookieSameSite CookieSecure CookieStyle "
     "CookieTracking"},
    {"mod_version",
     "IfVersion"},
    {"mod_vhost_alias",
     "VirtualDocumentRoot VirtualDocumentRootIP VirtualScriptAlias VirtualScriptAliasIP"},
    {"mod_watchdog",
     "WatchdogInterval"},
    {"mod_xml2enc",
     "xml2EncAlias xml2EncDefault xml2StartParse"},
    {"the core of Apache",
     "AcceptFilter AcceptPathInfo AccessFileName AddDefaultCharset AllowEncodedSlashes "
     "AllowOverride AllowOverrideList CGIMapExtension CGIPassAuth CGIVar ContentDigest "
     "DefaultRuntimeDir DefaultType Define Directory DirectoryMatch DocumentRoot Else ElseIf "
     "EnableMMAP EnableSendfile Error ErrorDocument ErrorLog ErrorLogFormat ExtendedStatus "
     "FileETag Files FilesMatch FlushMaxPipelined FlushMaxThreshold ForceType GprofDir "
     "HostnameLookups HttpProtocolOptions If IfDefine IfDirective IfFile IfModule IfSection "
     "Include IncludeOptional KeepAlive KeepAliveTimeout Limit LimitExcept LimitInternalRecursion "
     "LimitRequestBody LimitRequestFields LimitRequestFieldSize LimitRequestLine "
     "LimitXMLRequestBody Location LocationMatch LogLevel MaxKeepAliveRequests MaxRangeOverlaps "
     "MaxRangeReversals MaxRanges MergeSlashes MergeTrailers Mutex NameVirtualHost Options "
     "Protocol Protocols ProtocolsHonorOrder QualifyRedirectURL ReadBufferSize RegexDefaultOptions "
     "RegisterHttpMethod RLimitCPU RLimitMEM RLimitNPROC ScriptInterpreterSource SeeRequestTail "
     "ServerAdmin ServerAlias ServerName ServerPath ServerRoot ServerSignature ServerTokens "
     "SetHandler SetInputFilter SetOutputFilter StrictHostCheck TimeOut TraceEnable UNCList "
     "UnDefine UseCanonicalName UseCanonicalPhysicalPort VirtualHost"},
    {"mpm_event",
     "AsyncRequestWorkerFactor"},
    {"Apache's MPMs",
     "CoreDumpDirectory EnableExceptionHook GracefulShutdownTimeout Listen ListenBackLog "
     "ListenCoresBucketsRatio ListenTCPDeferAccept MaxConnectionsPerChild MaxMemFree "
     "MaxRequestWorkers MaxSpareThreads MinSpareThreads PidFile ReceiveBufferSize ScoreBoardFile "
     "SendBufferSize ServerLimit StartServers StartThreads ThreadLimit ThreadsPerChild "
     "ThreadStackSize"},
    {"mpm_netware",
     "MaxThreads"},
    {"mpm_prefork",
     "MaxSpareServers MinSpareServers"},
};
/* clang-format on */

static int known_is_in(const char *list, const char *name, apr_size_t len)
{
    while (*list) {
        apr_size_t n = strcspn(list, " ");

        if (n == len && !ap_cstr_casecmpn(list, name, len))
            return 1;
        list += n + (list[n] == ' ');
    }
    return 0;
}

const char *stock_directive_module(const char *name)
{
    apr_size_t len = strlen(name);

    for (unsigned i = 0; len && i < sizeof stock_modules / sizeof *stock_modules; i++)
        if (known_is_in(stock_modules[i].directives, name, len))
            return stock_modules[i].mod;
    return NULL;
}

int stock_other_mpm(const char *symbol)
{
    static const char *const others[] = {"mpm_worker_module", "mpm_winnt_module",
                                         "mpm_netware_module", NULL};

    for (int i = 0; others[i]; i++)
        if (!strcmp(symbol, others[i]))
            return 1;
    return 0;
}

/* Modules of Apache 2.4 that have no directive of their own. */
static const char known_silent[] =
    "asis authnz_ldap authz_host authz_owner authz_user bucketeer case_filter case_filter_in data "
    "http2 lbmethod_bybusyness lbmethod_byrequests lbmethod_bytraffic proxy_ajp proxy_balancer "
    "proxy_fdpass proxy_http proxy_http2 proxy_uwsgi ratelimit slotmem_plain slotmem_shm "
    "socache_dbm socache_dc socache_shmcb status unique_id xml2enc";

int stock_module_is(const char *symbol)
{
    static const char end[] = "_module";
    size_t len = strlen(symbol);

    if (len < sizeof end || strcmp(symbol + len - (sizeof end - 1), end) != 0)
        return 0;
    len -= sizeof end - 1;
    for (unsigned i = 0; i < sizeof stock_modules / sizeof *stock_modules; i++) {
        const char *name = stock_modules[i].mod;

        if (!strncmp(name, "mod_", 4) && strlen(name + 4) == len && !strncmp(name + 4, symbol, len))
            return 1;
    }
    return known_is_in(known_silent, symbol, len);
}
