<?php
/* SPDX-License-Identifier: Apache-2.0 */
/* A must-use plugin of page_cache.py: a cart for each buyer, in all pages. Who has something in it has two cookies: whose cart it is, and that there is one
 * (which a page cache may tell pages apart by). Where LiteSpeed's plugin has blocks, the cart is a private one; without blocks the page is private. A purge for caches that only know URLs. */
function shop_items()
{
    $id = $_COOKIE['shop_session'] ?? '';
    return preg_match('/^\w{16}$/', $id) ? (int) get_transient("shop_$id") : 0;
}

add_action('init', function () {
    if (!isset($_GET['add']))
        return;
    $id = $_COOKIE['shop_session'] ?? '';
    if (!preg_match('/^\w{16}$/', $id)) {
        $_COOKIE['shop_session'] = $id = bin2hex(random_bytes(8));
        setcookie('shop_session', $id, 0, '/');
        setcookie('shop_items', $_COOKIE['shop_items'] = '1', 0, '/');
    }
    set_transient("shop_$id", shop_items() + 1);
    do_action('litespeed_control_set_nocache', 'a buyer adds something');
    do_action('litespeed_purge_private_esi', 'shop_cart');
    nocache_headers();
});

add_action('wp', function () {
    if (empty($_COOKIE['shop_items']) || isset($_GET['add']) || apply_filters('litespeed_esi_status', false))
        return;
    do_action('litespeed_control_set_private', 'a cart is in the page');
    do_action('litespeed_tag_add_private_esi', 'shop_cart');
});

add_filter('litespeed_vary_curr_cookies', fn ($names) => [...$names, 'shop_items']);
add_filter('litespeed_vary_cookies', fn ($names) => [...$names, 'shop_items']);

add_action('wp_footer', function () {
    $is_block = !empty($_COOKIE['shop_items']) && apply_filters('litespeed_esi_status', false);
    echo '<p>cart ', $is_block ? apply_filters('litespeed_esi_url', 'shop_cart', 'cart', [], 'private') : shop_items(), '.</p>';
});

add_action('litespeed_esi_load-shop_cart', function () {
    do_action('litespeed_control_set_private', 'a cart');
    do_action('litespeed_control_set_ttl', 600);
    do_action('litespeed_tag_add_private_esi', 'shop_cart');
    echo shop_items();
});

// WP Super Cache's rules have names of cookies of their own.
add_filter('supercacherewriteconditions', fn ($conditions) => str_replace('comment_author_', 'comment_author_|shop_items', $conditions));

add_action('save_post', function () {
    if ($port = get_option('shop_ban_port'))
        @file_get_contents("http://127.0.0.1:$port/", false, stream_context_create(['http' => ['method' => 'BAN', 'timeout' => 5]]));
});
